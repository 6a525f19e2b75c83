// PNG through libpng's simplified reader, which returns its errors.
#include <png.h>

#include "data/formats/image.h"

namespace tessera {
namespace {

// libpng's simplified reader: it allocates behind the image and frees with png_image_free.
struct Reader {
  png_image info{};
  Reader() { info.version = PNG_IMAGE_VERSION; }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_image_free(&info); }

  Error failed() const { return {"png", fmt::format("not a sound PNG image: {}", info.message)}; }
};

}  // namespace

Result<Image> decode_png(ByteSpan bytes, std::uint32_t channels, std::uint64_t pixels_max) {
  CHECK((channels == 1 || channels == 3));
  Reader reader;
  if (!png_image_begin_read_from_memory(&reader.info, bytes.data(), bytes.size()))
    return reader.failed();
  Image image{.channels = channels, .height = reader.info.height, .width = reader.info.width};
  const std::uint64_t pixels = std::uint64_t{image.height} * image.width;
  if (pixels > pixels_max)
    return Error{"size", fmt::format("{} x {} pixels are more than {}", image.height, image.width,
                                     pixels_max)};
  reader.info.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  reader.info.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  image.pixels.resize(pixels * channels);
  const png_color black{};
  if (!png_image_finish_read(&reader.info, &black, image.pixels.data(), 0, nullptr))
    return reader.failed();
  return image;
}

}  // namespace tessera
