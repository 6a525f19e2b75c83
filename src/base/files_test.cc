#include "base/files.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

TEST(Files, WriteThenReadGivesTheSameBytesAndLeavesNothingBeside) {
  const fs::path folder = fs::path(testing::TempDir()) / "tessera_files_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path path = folder / "model.bin";
  for (std::size_t size : {0u, 1u, 5000u}) {
    const Bytes bytes(size, std::byte{7});
    ASSERT_TRUE(write_file(path, bytes).ok());
    EXPECT_EQ(*read_file(path), bytes);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::remove_all(folder);
}

TEST(Files, ErrorsNameTheFileAndTheReason) {
  const auto missing = read_file("no/such/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "no/such/file: cannot open: No such file or directory");
  EXPECT_NE(read_file(testing::TempDir()).error().message.find("is a folder"), std::string::npos);
  EXPECT_FALSE(write_file("no/such/folder/file", {}).ok());
}

}  // namespace
}  // namespace tessera
