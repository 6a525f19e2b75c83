// Images broken here and there. The input is not the file itself, which would hardly ever get past
// an image's checks, but a list of edits to a sound one: its first byte chooses which, or that the
// rest be taken as it is, and every three bytes after it are a place and what to write there.
#include <array>

#include "base/check.h"
#include "data/test_images.h"

namespace tessera {
namespace {

const std::array<Bytes, 4>& sound_images() {
  static const std::array<Bytes, 4> images = {
      encode_jpeg(gradient(3, 24, 24)), encode_jpeg(gradient(3, 24, 24), true),
      encode_jpeg(gradient(1, 9, 17)), encode_png(gradient(3, 24, 24))};
  return images;
}

Bytes edited(std::span<const std::uint8_t> data) {
  if (data.empty() || data[0] >= sound_images().size()) {
    const ByteSpan raw = std::as_bytes(data.subspan(data.empty() ? 0 : 1));
    return {raw.begin(), raw.end()};
  }
  Bytes file = sound_images()[data[0]];
  for (data = data.subspan(1); data.size() >= 3; data = data.subspan(3))
    file[(data[0] << 8 | data[1]) % file.size()] = std::byte{data[2]};
  return file;
}

void decode(const Bytes& file) {
  for (const std::uint32_t channels : {1u, 3u}) {
    const Result<Image> image = decode_image(file, channels, 1 << 20);
    if (image.ok())
      CHECK(image->pixels.size() == std::size_t{channels} * image->height * image->width);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::decode(tessera::edited({data, size}));
  return 0;
}
