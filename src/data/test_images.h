// Images for tests and fuzzers, encoded here so that no file has to be kept.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include "data/formats/image.h"

namespace tessera {

inline Bytes encode_jpeg(const Image& image, bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = image.width;
  info.image_height = image.height;
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.pixels.data() + std::size_t{info.next_scanline} *
                                                               image.width * image.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  Bytes bytes(begin, begin + size);
  std::free(memory);
  return bytes;
}

inline Bytes encode_png(const Image& image) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.width = image.width;
  info.height = image.height;
  info.format = image.channels == 1   ? PNG_FORMAT_GRAY
                : image.channels == 4 ? PNG_FORMAT_RGBA
                                      : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  CHECK(png_image_write_get_memory_size(info, size, 0, image.pixels.data(), 0, nullptr));
  Bytes bytes(size);
  CHECK(png_image_write_to_memory(&info, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr));
  bytes.resize(size);
  return bytes;
}

// A smooth image, which JPEG keeps nearly as it is.
inline Image gradient(std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
  Image image{channels, height, width, {}};
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x)
      for (std::uint32_t c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<std::uint8_t>((40 * c + 3 * y + 2 * x) % 256));
  return image;
}

}  // namespace tessera
