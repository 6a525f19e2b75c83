#include "base/folder_lock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class FolderLockTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(path_); }
  void TearDown() override { fs::remove_all(path_); }

  std::string refusal() const {
    try {
      const FolderLock lock(path_);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  fs::path path_ = fs::path(testing::TempDir()) / fmt::format("tessera_lock_test_{}", ::getpid());
};

TEST_F(FolderLockTest, KeepsOthersOutAndNamesItsHolder) {
  FolderLock::check(path_);
  EXPECT_FALSE(fs::exists(path_));
  {
    const FolderLock lock(path_);
    EXPECT_NE(refusal().find(fmt::format("is in use by process {}", ::getpid())), std::string::npos)
        << refusal();
    EXPECT_THROW(FolderLock::check(path_), std::invalid_argument);
  }
  EXPECT_TRUE(fs::is_empty(path_));
  FolderLock::check(path_);
  EXPECT_EQ(refusal(), "");
}

// A child takes the lock, tells us through a pipe, and is killed.
TEST_F(FolderLockTest, AKilledProcessHoldsNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(path_);
    (void)!::write(ends[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char told = 0;
  ASSERT_EQ(::read(ends[0], &told, 1), 1);
  EXPECT_NE(refusal().find(fmt::format("process {}", child)), std::string::npos) << refusal();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(path_ / FolderLock::kName));
  EXPECT_EQ(refusal(), "");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(FolderLockTest, ALinkInItsPlaceIsRefused) {
  fs::create_directories(path_);
  fs::create_symlink("elsewhere", path_ / FolderLock::kName);
  EXPECT_NE(refusal().find("cannot create"), std::string::npos) << refusal();
  EXPECT_FALSE(fs::exists(path_ / "elsewhere"));
}

}  // namespace
}  // namespace tessera
