// Images from JPEG and PNG bytes, and from one size to another. Whatever is wrong with the bytes
// comes back as an Error: the libraries' own habit of printing and ending the program is replaced.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct Image {
  std::uint32_t channels = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::vector<std::uint8_t> pixels{};  // Row by row, the channels of a pixel together.
};

// Whoever wrote the file chose its size; this bounds what we allocate for it.
inline constexpr std::uint64_t kPixelsMax = std::uint64_t{1} << 26;

// `channels` is 3 for colour or 1 for grey, whatever the file holds. A warning counts as an error:
// libjpeg fills what it cannot read with grey and carries on, and a model would learn that.
Result<Image> decode_jpeg(ByteSpan bytes, std::uint32_t channels,
                          std::uint64_t pixels_max = kPixelsMax);

// Transparent pixels lie on black.
Result<Image> decode_png(ByteSpan bytes, std::uint32_t channels,
                         std::uint64_t pixels_max = kPixelsMax);

// Either of the two, told apart by how the bytes begin.
Result<Image> decode_image(ByteSpan bytes, std::uint32_t channels,
                           std::uint64_t pixels_max = kPixelsMax);

// Bicubic with antialiasing, the method Python's Pillow uses by default.
Image resized(const Image& image, std::uint32_t height, std::uint32_t width);

// Channel after channel instead of pixel after pixel: how models expect it.
void copy_planes(const Image& image, std::span<std::uint8_t> planes);

}  // namespace tessera
