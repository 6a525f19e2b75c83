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
    ASSERT_EQ(restored->notes.size(), 1u);
  }
  EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl"), "1\n2\n3\n");
}

TEST_F(RunFolderTest, ACheckpointOfAnotherConfigurationIsPassedOver) {
  RunFolder(path_, "a = 1\n", ExistingRun::kRefuse).write_checkpoint(3, bytes_of("state"));
  ASSERT_TRUE(write_file(path_ / "config.toml", bytes_of("a = 2\n")).ok());
  const auto restored = RunFolder(path_, "a = 2\n", ExistingRun::kResume).read_checkpoint();
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->state.empty());
  EXPECT_EQ(restored->notes.size(), 1u);
}

std::string lines(std::uint32_t count) {
  std::string text;
  for (std::uint32_t i = 1; i <= count; ++i) text += std::to_string(i) + "\n";
  return text;
}

// The disk lost the end of metrics.jsonl, or all of it: the model is worth more than its rows.
TEST_F(RunFolderTest, ShortMetricsCostRowsAndNotTheCheckpoint) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  for (std::uint32_t round = 1; round <= 6; ++round) {
    folder.append_metrics(std::to_string(round));
    folder.write_checkpoint(round, bytes_of(std::to_string(round)));
  }
  for (std::uint32_t kept = 6; kept-- > 0;) {
    // Half a row is none.
    ASSERT_TRUE(write_file(path_ / "metrics.jsonl", bytes_of(lines(kept) + "x")).ok());
    const auto restored = folder.read_checkpoint();
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->round, 6u);
    EXPECT_EQ(restored->state.size(), 1u);
    ASSERT_EQ(restored->notes.size(), 1u);
    EXPECT_TRUE(restored->notes[0].starts_with(
        fmt::format("{} of the 6 rows before it are missing", 6 - kept)))
        << restored->notes[0];
    EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl"), lines(kept));
  }
  fs::remove(path_ / "metrics.jsonl");
  EXPECT_EQ(folder.read_checkpoint()->round, 6u);
  // A checkpoint written now counts the rows that are there.
  folder.append_metrics("7");
  folder.write_checkpoint(7, bytes_of("7"));
  EXPECT_TRUE(folder.read_checkpoint()->notes.empty());
}

TEST_F(RunFolderTest, RowsWithoutAWholeCheckpointAreSetAside) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  folder.append_metrics("1");
  folder.write_checkpoint(1, bytes_of("state"));
  ASSERT_TRUE(write_file(path_ / "checkpoint" / "1.bin", bytes_of("torn")).ok());
  const auto restored = folder.read_checkpoint();
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->state.empty());
  EXPECT_FALSE(fs::exists(path_ / "metrics.jsonl"));
  EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl.before"), "1\n");
}

TEST_F(RunFolderTest, ASecondProcessIsRefusedAndHarmsNothing) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  folder.append_metrics("1");
  const fs::path part = path_ / "checkpoint" / "5.bin.part77-0123456789abcdef";
  ASSERT_TRUE(write_file(part, bytes_of("half")).ok());
  for (const ExistingRun existing :
       {ExistingRun::kRefuse, ExistingRun::kOverwrite, ExistingRun::kResume}) {
    EXPECT_THROW(RunFolder::check(path_, "a = 1\n", existing), std::invalid_argument);
    EXPECT_THROW(RunFolder(path_, "a = 1\n", existing), std::invalid_argument);
  }
  EXPECT_TRUE(fs::exists(part));
  EXPECT_EQ(*read_text_file(path_ / "metrics.jsonl"), "1\n");
}

TEST_F(RunFolderTest, CheckpointsAreTheirOwnersAlone) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  folder.write_checkpoint(1, bytes_of("state"));
  const fs::perms others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(path_ / "checkpoint" / "1.bin").permissions() & others, fs::perms::none);
}

// What was deleted by hand is made again: a node that is to resume has somewhere to save.
TEST_F(RunFolderTest, AMissingCheckpointFolderIsMadeAgain) {
  { const RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse); }
  fs::remove_all(path_ / "checkpoint");
  RunFolder folder(path_, "a = 1\n", ExistingRun::kResume);
  folder.write_checkpoint(1, bytes_of("state"));
  EXPECT_EQ(folder.read_checkpoint()->round, 1u);
}

TEST_F(RunFolderTest, ACheckpointOfAnotherVersionIsRefusedByName) {
  RunFolder folder(path_, "a = 1\n", ExistingRun::kRefuse);
  folder.append_metrics("{}");
  folder.write_checkpoint(3, bytes_of("state"));
  const fs::path file = path_ / "checkpoint" / "3.bin";
  Bytes bytes = *read_file(file);
  bytes[4] = std::byte{6};  // The version follows four bytes of magic, the checksum ends the file.
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  ByteWriter(bytes).put(hash_bytes(bytes));
  ASSERT_TRUE(write_file(file, bytes).ok());
  try {
    (void)folder.read_checkpoint();
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string_view(error.what()).find("an older tessera (version 6; this one reads"),
              std::string_view::npos)
        << error.what();
  }
  EXPECT_TRUE(fs::exists(path_ / "metrics.jsonl"));
}

}  // namespace
}  // namespace tessera
