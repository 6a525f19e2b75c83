// For this folder's tests: files they write themselves, and real ones where a machine has them.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/test_images.h"

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

// An IDX file; type 8 is unsigned bytes.
inline Bytes idx(unsigned type, std::vector<std::uint32_t> extents, std::vector<int> values) {
  Bytes bytes{std::byte{0}, std::byte{0}, std::byte(type), std::byte(extents.size())};
  for (const std::uint32_t extent : extents)
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(std::byte(extent >> shift));
  for (const int value : values) bytes.push_back(std::byte(value));
  return bytes;
}

// Two images of 2 x 3: 0 1 2 / 3 4 5 and 10 11 12 / 13 14 15.
inline Bytes two_images() {
  return idx(8, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
}

}  // namespace tessera
