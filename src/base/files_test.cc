#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
  EXPECT_EQ(write_file("no/such/folder/file", {}).error().message,
            "no/such/folder/file: the folder no/such/folder does not exist; make it: mkdir -p "
            "no/such/folder");
}

TEST(Files, ALinkIsFollowedAndWhatIsNoFileStays) {
  const fs::path folder = fs::path(testing::TempDir()) / "tessera_files_test_links";
  fs::remove_all(folder);
  fs::create_directories(folder / "far");
  fs::create_symlink("far/second", folder / "first");
  fs::create_symlink("there", folder / "far" / "second");
  const Bytes bytes(3, std::byte{7});
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(write_file(folder / "first", bytes).ok());
    EXPECT_TRUE(fs::is_symlink(folder / "first"));
    EXPECT_TRUE(fs::is_symlink(folder / "far" / "second"));
    EXPECT_EQ(*read_file(folder / "far" / "there"), bytes);
  }

  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "to_pipe");
  fs::create_symlink("back", folder / "forth");
  fs::create_symlink("forth", folder / "back");
  for (const char* name : {"pipe", "to_pipe", "far", "forth"}) {
    const auto refused = write_file(folder / name, bytes);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_TRUE(refused.error().message.starts_with((folder / name).string() + ": "))
        << refused.error().message;
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_FALSE(write_file("/dev/full", bytes).ok());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera
