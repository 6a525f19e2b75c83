#include "report/run_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "base/files.h"
#include "base/hash.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(path_); }
  void TearDown() override { fs::remove_all(path_); }
  fs::path path_ =
      fs::path(testing::TempDir()) / fmt::format("tessera_run_folder_test_{}", ::getpid());
};

TEST_F(RunFolderTest, AnExistingRunIsNotTouchedUnasked) {
  RunFolder(path_, "nodes = 1\n", ExistingRun::kRefuse).append_metrics("{}");
  EXPECT_THROW(RunFolder(path_, "nodes = 1\n", ExistingRun::kRefuse), std::invalid_argument);
  EXPECT_TRUE(fs::exists(path_ / "metrics.jsonl"));
  EXPECT_THROW(RunFolder(path_, "nodes = 2\n", ExistingRun::kResume), std::invalid_argument);
  RunFolder(path_, "nodes = 2\n", ExistingRun::kOverwrite);
  EXPECT_FALSE(fs::exists(path_ / "metrics.jsonl"));
}

TEST_F(RunFolderTest, AnotherConfigurationIsNamedByItsLine) {
  RunFolder(path_, "nodes = 1\nseed  = 90\n", ExistingRun::kRefuse);
  try {
    RunFolder::check(path_, "nodes = 1\nseed  = 91\n", ExistingRun::kResume);
    FAIL() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string_view(error.what()).find("(seed = 91)"), std::string_view::npos);
  }
}

TEST_F(RunFolderTest, AFolderThatIsNoRunIsLeftAlone) {
  fs::create_directories(path_ / "thesis");
  EXPECT_THROW(RunFolder(path_, "", ExistingRun::kOverwrite), std::invalid_argument);
  EXPECT_TRUE(fs::exists(path_ / "thesis"));
}

TEST_F(RunFolderTest, TheNewestWholeCheckpointIsUsedAndMetricsAreCutBackToIt) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  EXPECT_FALSE(folder.read_checkpoint().has_value());
  for (std::uint32_t round = 1; round <= 4; ++round) {
    folder.append_metrics(std::to_string(round));
    folder.write_checkpoint(round, bytes_of(std::to_string(round * 11)));
  }
  folder.append_metrics("5");
  EXPECT_EQ(std::distance(fs::directory_iterator(path_ / "checkpoint"), {}), 2);

  auto restored = folder.read_checkpoint();
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->round, 4u);
  EXPECT_EQ(restored->state, Bytes(bytes_of("44").begin(), bytes_of("44").end()));
  EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl"), "1\n2\n3\n4\n");

  // Torn at every length, the newest is passed over for the one before.
  const fs::path newest = path_ / "checkpoint" / "4.bin";
  const Bytes whole = *read_file(newest);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(write_file(newest, ByteSpan(whole).first(length)).ok());
    restored = folder.read_checkpoint();
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->round, 3u);
    ASSERT_EQ(restored->passed_over.size(), 1u);
  }
  EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl"), "1\n2\n3\n");
}

TEST_F(RunFolderTest, ACheckpointOfAnotherConfigurationIsPassedOver) {
  RunFolder(path_, "a = 1\n", ExistingRun::kRefuse).write_checkpoint(3, bytes_of("state"));
  ASSERT_TRUE(write_file(path_ / "config.toml", bytes_of("a = 2\n")).ok());
  const auto restored = RunFolder(path_, "a = 2\n", ExistingRun::kResume).read_checkpoint();
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->state.empty());
  EXPECT_EQ(restored->passed_over.size(), 1u);
}

TEST_F(RunFolderTest, ACheckpointOfAnotherVersionIsRefusedByName) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  folder.append_metrics("{}");
  folder.write_checkpoint(3, bytes_of("state"));
  const fs::path file = path_ / "checkpoint" / "3.bin";
  Bytes bytes = *read_file(file);
  bytes[4] = std::byte{1};  // The version follows four bytes of magic, the checksum ends the file.
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  ByteWriter(bytes).put(hash_bytes(bytes));
  ASSERT_TRUE(write_file(file, bytes).ok());
  try {
    (void)folder.read_checkpoint();
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string_view(error.what()).find("an older tessera (version 1; this one reads"),
              std::string_view::npos)
        << error.what();
  }
  EXPECT_TRUE(fs::exists(path_ / "metrics.jsonl"));
}

}  // namespace
}  // namespace tessera
