// For this folder's tests: files they write themselves, and real ones where a machine has them.
#pragma once

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/image.h"

namespace tessera {

// A folder for one test, empty at the start and gone at the end.
class TempFolder {
 public:
  TempFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("tessera_data_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string text() const { return path_.string(); }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, ByteSpan bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    ASSERT_TRUE(write_file(path_ / name, bytes).ok());
  }
  void write(const std::string& name, std::string_view text) const { write(name, bytes_of(text)); }

 private:
  std::filesystem::path path_;
};

// A folder of real data below $TESSERA_DATA or below data/ of the source tree, where
// scripts/get_data.sh puts it. Nothing when neither has it: the test then says so and is skipped.
inline std::optional<std::filesystem::path> real_data(const std::string& name) {
  std::vector<std::filesystem::path> roots;
  if (const char* root = std::getenv("TESSERA_DATA")) roots.emplace_back(root);
  roots.emplace_back(std::filesystem::path(TESSERA_SOURCE_DIR) / "data");
  for (const std::filesystem::path& root : roots)
    if (std::filesystem::is_directory(root / name)) return root / name;
  return std::nullopt;
}

#define NEED_REAL_DATA(path, name)   \
  const auto path = real_data(name); \
  if (!path) GTEST_SKIP() << "needs the real " << (name) << " under $TESSERA_DATA or data/"

inline Bytes gzipped(ByteSpan plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()) + 64);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

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
  EXPECT_TRUE(png_image_write_get_memory_size(info, size, 0, image.pixels.data(), 0, nullptr));
  Bytes bytes(size);
  EXPECT_TRUE(
      png_image_write_to_memory(&info, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr));
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
