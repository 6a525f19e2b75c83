// When rows and checkpoints are due, and which rows are owed.
#include "live/runtime_records.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

using namespace std::chrono_literals;

struct Noted final : RuntimeObserver {
  std::vector<Round> rows{}, checkpoints{};
  std::vector<std::string> lines{};
  int ticks = 0, progress = 0;
  bool writable = true;
  void on_tick() override { ++ticks; }
  void on_row(const RuntimeRow& row) override { rows.push_back(row.round); }
  bool on_checkpoint(Round round, const Bytes&) override {
    if (writable) checkpoints.push_back(round);
    return writable;
  }
  void on_progress() override { ++progress; }
  void say(LogLevel level, std::string_view line) override {
    lines.push_back(fmt::format("{} {}", to_string(level), line));
  }
};

constexpr Instant at(Duration since) {
  return Instant(since);
}

TEST(RuntimeRecords, MomentsAreEvaluatedOneAtATime) {
  Noted noted;
  RuntimeRecords records(0, noted, {.evaluate_period = 10s});
  records.begin(at(25s), 0);
  EXPECT_FALSE(records.moment_due(at(29s)));
  EXPECT_EQ(records.moment_due(at(31s)), at(30s));
  records.owe({4, at(30s)});
  EXPECT_FALSE(records.moment_due(at(41s)));  // The last is not done.
  records.settle();
  EXPECT_EQ(records.moment_due(at(55s)), at(50s));  // 40 s is passed over.
}

TEST(RuntimeRecords, WithoutAPeriodNoMomentIsDue) {
  Noted noted;
  RuntimeRecords records(0, noted, {.evaluate_every = 1});
  EXPECT_FALSE(records.moment_due(at(1h)));
}

TEST(RuntimeRecords, RowsThatAreOwedSurviveARestart) {
  Noted noted;
  RuntimeRecords records(0, noted, {}), again(0, noted, {});
  records.owe({10, at(3s)});
  records.owe({20, at(5s)});
  Bytes state;
  save_fields(records, state);
  ByteReader in(state);
  ASSERT_TRUE(load_fields(again, in).ok());
  const auto owed = again.take_owed();
  ASSERT_EQ(owed.size(), 2u);
  EXPECT_EQ(owed[1].round, 20u);
  EXPECT_EQ(owed[1].at, at(5s));
}

TEST(RuntimeRecords, CheckpointsAndTicksComeInTime) {
  Noted noted;
  RuntimeRecords records(0, noted, {.checkpoint_every = 10s});
  records.begin(at(5s), 0);
  EXPECT_FALSE(records.checkpoint_due(at(14s)));
  EXPECT_TRUE(records.checkpoint_due(at(15s)));
  records.write_checkpoint(at(15s), 3, {});
  EXPECT_FALSE(records.checkpoint_due(at(24s)));
  EXPECT_TRUE(records.checkpoint_due(at(18s), true));
  EXPECT_FALSE(records.checkpoint_due(at(17s), true));
  EXPECT_EQ(noted.checkpoints, std::vector<Round>{3});
  EXPECT_EQ(records.checkpoints(), 1u);
  records.tick(at(15s), {});
  EXPECT_FALSE(records.tick_due(at(15100ms)));
  EXPECT_TRUE(records.tick_due(at(15200ms)));
  EXPECT_EQ(noted.ticks, 1);
}

TEST(RuntimeRecords, ACheckpointThatCannotBeWrittenIsTriedAgainEverMoreRarely) {
  Noted noted;
  RuntimeRecords records(0, noted, {.checkpoint_every = 0s});
  records.begin(at(5s), 0);
  noted.writable = false;
  EXPECT_FALSE(records.write_checkpoint(at(5s), 3, {}));
  EXPECT_FALSE(records.checkpoint_due(at(5900ms)));
  EXPECT_TRUE(records.checkpoint_due(at(6s)));
  EXPECT_FALSE(records.write_checkpoint(at(6s), 4, {}));
  EXPECT_FALSE(records.checkpoint_due(at(7900ms)));
  EXPECT_EQ(records.checkpoints(), 0u);
  noted.writable = true;
  EXPECT_TRUE(records.write_checkpoint(at(8s), 5, {}));
  EXPECT_TRUE(records.checkpoint_due(at(8s)));
  EXPECT_EQ(noted.checkpoints, std::vector<Round>{5});
}

TEST(RuntimeRecords, AModelThatHasDivergedIsNotWrittenDown) {
  Noted noted;
  RuntimeRecords records(0, noted, {});
  RuntimeRow row{.round = 7};
  records.write(row);
  row.score.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(records.write(row), std::runtime_error);
  EXPECT_EQ(noted.rows, std::vector<Round>{7});
}

TEST(RuntimeRecords, ALineOfProgressIsDueSoonAndThenNowAndThen) {
  Noted noted;
  RuntimeRecords records(0, noted, {.progress_every = 30s}), silent(0, noted, {});
  records.begin(at(100s), 0);
  silent.begin(at(100s), 0);
  for (Duration since = 0s; since <= 100s; since += 200ms) {
    records.tick(at(100s) + since, {});
    silent.tick(at(100s) + since, {});
  }
  EXPECT_EQ(noted.progress, 4);  // After 5, 35, 65 and 95 s.
}

// A storm of connections makes few lines.
TEST(RuntimeRecords, WhatIsRefusedAtThePortIsToldEachTimeThereIsTwiceAsMuch) {
  Noted noted;
  RuntimeRecords records(0, noted, {});
  records.begin(at(0s), 0);
  for (std::uint64_t count = 0; count <= 1000; ++count)
    records.tick(at(0s), count == 0 ? WordCounts{} : WordCounts{{"unknown-key", count}});
  ASSERT_EQ(noted.lines.size(), 10u);
  EXPECT_EQ(noted.lines[0], "warning refused at the port: unknown-key, 1 so far");
  EXPECT_EQ(noted.lines[9], "warning refused at the port: unknown-key, 512 so far");
}

}  // namespace
}  // namespace tessera
