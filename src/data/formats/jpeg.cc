// JPEG through libjpeg, whose errors jump back here instead of ending the program.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "data/formats/image.h"

namespace tessera {
namespace {

// A progressive file can ask for millions of passes over the image; honest ones have about ten.
constexpr int kScansMax = 100;

// One decoder. libjpeg reports errors by calling error_exit, which must not return: it jumps back
// to `escape`. A jump skips destructors, so the functions that can be jumped out of hold nothing
// but this and plain numbers.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }
};

[[noreturn]] void give_up(j_common_ptr info) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  (*info->err->format_message)(info, decoder->message);
  std::longjmp(decoder->escape, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level < 0) give_up(info);  // Below zero: the data are corrupt. Above: chatter.
}

void print_nothing(j_common_ptr) {}

void on_progress(j_common_ptr info) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  if (decoder->info.input_scan_number <= kScansMax) return;
  std::snprintf(decoder->message, sizeof decoder->message, "more than %d scans", kScansMax);
  std::longjmp(decoder->escape, 1);
}

bool read_header(Decoder& decoder, ByteSpan bytes) {
  if (setjmp(decoder.escape)) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = give_up;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = print_nothing;
  info.client_data = &decoder;
  jpeg_create_decompress(&info);
  decoder.progress.progress_monitor = on_progress;
  info.progress = &decoder.progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  return true;
}

bool read_pixels(Decoder& decoder, std::uint32_t channels, std::uint8_t* pixels) {
  if (setjmp(decoder.escape)) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + std::size_t{info.output_scanline} * info.output_width * channels;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

Result<Image> decode_jpeg(ByteSpan bytes, std::uint32_t channels, std::uint64_t pixels_max) {
  CHECK((channels == 1 || channels == 3));
  // libjpeg refuses an empty source by other means than its errors.
  if (bytes.empty()) return Error{"truncated", "byte 0: the file is empty"};
  Decoder decoder;
  const auto failed = [&] {
    return Error{"jpeg", fmt::format("not a sound JPEG image: {}", decoder.message)};
  };
  if (!read_header(decoder, bytes)) return failed();
  Image image{
      .channels = channels, .height = decoder.info.image_height, .width = decoder.info.image_width};
  const std::uint64_t pixels = std::uint64_t{image.height} * image.width;
  if (pixels > pixels_max)
    return Error{"size", fmt::format("{} x {} pixels are more than {}", image.height, image.width,
                                     pixels_max)};
  image.pixels.resize(pixels * channels);
  if (!read_pixels(decoder, channels, image.pixels.data())) return failed();
  return image;
}

}  // namespace tessera
