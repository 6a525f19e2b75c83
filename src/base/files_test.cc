#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Whoever may write into the folder knows our process number.
TEST(Files, ALinkPreparedBesideAFileIsNotFollowed) {
  const fs::path folder = fs::path(testing::TempDir()) / "tessera_files_test_prepared";
  fs::remove_all(folder);
  fs::create_directories(folder);
  ASSERT_TRUE(write_file(folder / "precious", bytes_of("mine")).ok());
  fs::create_symlink("precious", folder / fmt::format("model.bin.part{}", ::getpid()));
  ASSERT_TRUE(write_file(folder / "model.bin", bytes_of("model")).ok());
  EXPECT_EQ(*read_text_file(folder / "precious"), "mine");
  EXPECT_EQ(*read_text_file(folder / "model.bin"), "model");
  fs::remove_all(folder);
}

TEST(Files, APrivateFileIsOfItsParts) {
  const fs::path path = fs::path(testing::TempDir()) / "tessera_files_test_private";
  ASSERT_TRUE(write_private_file(path, {bytes_of("a"), bytes_of(""), bytes_of("bc")}).ok());
  EXPECT_EQ(*read_text_file(path), "abc");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(path);
}

TEST(Files, WhatHasNoEndIsReadInBounds) {
  EXPECT_EQ(read_file("/dev/zero").error().message, "/dev/zero: is longer than 67108864 bytes");
  EXPECT_EQ(read_text_file("/dev/zero", 1000).error().kind, "size");
  const fs::path path = fs::path(testing::TempDir()) / "tessera_files_test_long";
  ASSERT_TRUE(write_file(path, Bytes(1001)).ok());
  EXPECT_EQ(read_file(path, 1001)->size(), 1001u);
  EXPECT_EQ(read_file(path, 1000).error().kind, "size");
  fs::remove(path);
}

#if !TESSERA_SANITIZED  // Sanitizers need terabytes of addresses for themselves.
// A hole of 4 GiB takes no room on the disk, and more than a process of 1 GiB has.
TEST(Files, WhatDoesNotFitIntoMemoryIsNamed) {
  const fs::path path = fs::path(testing::TempDir()) / "tessera_files_test_huge";
  ASSERT_TRUE(write_file(path, {}).ok());
  fs::resize_file(path, 4ull << 30);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 1 << 30, .rlim_max = 1 << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto huge = read_file(path);
    const bool named =
        !huge &&
        huge.error().message == path.string() + ": 4294967296 bytes are more than fit into memory";
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fs::remove(path);
}
#endif

}  // namespace
}  // namespace tessera
