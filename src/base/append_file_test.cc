#include "base/append_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The longest file this process may write is cut to 10 bytes for a while, as a full disk would.
TEST(AppendFile, ALineIsThereWholeOrNotAtAll) {
  const fs::path path =
      fs::path(testing::TempDir()) / fmt::format("tessera_append_test_{}", ::getpid());
  fs::remove(path);
  AppendFile file = AppendFile::open(path).value();
  ASSERT_TRUE(file.append("12345").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit short_files = before;
  short_files.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &short_files), 0);
  const Result<void> refused = file.append("678901");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, path.string() + ": cannot write: File too large");
  EXPECT_EQ(*read_text_file(path), "12345\n");
  ASSERT_TRUE(file.append("678").ok());
  EXPECT_TRUE(file.sync().ok());
  EXPECT_EQ(*read_text_file(path), "12345\n678\n");
  EXPECT_EQ(*file.size(), 10u);
  fs::remove(path);
}

}  // namespace
}  // namespace tessera
