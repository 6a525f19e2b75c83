// Any bytes as a JPEG or PNG image of up to a megapixel.
#include "base/check.h"
#include "data/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tessera::ByteSpan bytes = std::as_bytes(std::span(data, size));
  for (const std::uint32_t channels : {1u, 3u}) {
    const auto image = tessera::decode_image(bytes, channels, 1 << 20);
    if (image.ok())
      CHECK(image->pixels.size() == std::size_t{channels} * image->height * image->width);
  }
  return 0;
}
