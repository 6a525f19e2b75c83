#include "live/status_board.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Instant at_ms(int ms) {
  return Instant(std::chrono::milliseconds(ms));
}

TEST(StatusBoard, ShowsWhatWasPostedLast) {
  StatusBoard board;
  board.post(at_ms(0), {.name = "n00", .round = 3});
  board.post(at_ms(1), {.name = "n00", .round = 4, .refusals = {{"late", 2}}});
  EXPECT_EQ(board.read().round, 4u);
  EXPECT_EQ(board.read().refusals, (WordCounts{{"late", 2}}));
}

TEST(StatusBoard, IsOldAfterATwentiethOfASecond) {
  StatusBoard board;
  board.post(at_ms(1000), {});
  EXPECT_FALSE(board.is_old(at_ms(1049)));
  EXPECT_TRUE(board.is_old(at_ms(1050)));
  board.post(at_ms(1050), {});
  EXPECT_FALSE(board.is_old(at_ms(1099)));
}

TEST(StatusBoard, KeepsTheLastEvaluation) {
  StatusBoard board;
  board.post_evaluation({.round = 10, .score = {.accuracy = 0.75, .loss = 0.5}});
  board.post(at_ms(0), {.round = 12, .learning = {.train_loss = 2}});
  const LearningStatus learning = board.read().learning;
  EXPECT_EQ(learning.evaluated_round, 10u);
  EXPECT_EQ(learning.accuracy, 0.75);
  EXPECT_EQ(learning.loss, 0.5);
  EXPECT_EQ(learning.train_loss, 2);  // That of the training is the newest.
}

TEST(StatusBoard, TellsTheTimeLeftByThePaceOfThisProcess) {
  StatusBoard board;
  board.post(at_ms(0), {.round = 40, .rounds = 100, .age = 40});
  EXPECT_FALSE(board.read().seconds_left);
  board.begin(at_ms(5000), 40, kNever);
  board.post(at_ms(6000), {.round = 40, .rounds = 100, .age = 40});
  EXPECT_FALSE(board.read().seconds_left);
  board.post(at_ms(15'000), {.round = 60, .rounds = 100, .age = 60});  // 20 rounds in 10 s.
  EXPECT_DOUBLE_EQ(*board.read().seconds_left, 20);
  board.post(at_ms(15'000), {.state = "finished", .round = 100, .rounds = 100});
  EXPECT_EQ(*board.read().seconds_left, 0);
}

TEST(StatusBoard, RoundsThatOthersMadeAreNoPace) {
  StatusBoard board;
  board.begin(at_ms(0), 0, kNever);
  board.post(at_ms(1000), {.round = 800, .rounds = 1000, .age = 1});  // Where the others are.
  EXPECT_FALSE(board.read().seconds_left);
  board.post(at_ms(11'000), {.round = 820, .rounds = 1000, .age = 21});  // 20 rounds in 10 s.
  EXPECT_DOUBLE_EQ(*board.read().seconds_left, 90);
  board.post(at_ms(16'000), {.round = 840, .rounds = 1000, .age = 26});  // 15 of 20 were skipped.
  EXPECT_DOUBLE_EQ(*board.read().seconds_left, 60);
}

TEST(StatusBoard, ARunThatEndsAtAMomentHasTheTimeUntilThen) {
  StatusBoard board;
  board.begin(at_ms(0), 0, at_ms(60'000));
  board.post(at_ms(10'000), {});
  EXPECT_DOUBLE_EQ(*board.read().seconds_left, 50);
  board.post(at_ms(10'000), {.round = 50, .rounds = 100, .age = 50});  // Whichever comes first.
  EXPECT_DOUBLE_EQ(*board.read().seconds_left, 10);
  board.post(at_ms(70'000), {});
  EXPECT_EQ(*board.read().seconds_left, 0);
}

// The node counts its own refusals; those of the process are on top, and are not forgotten.
TEST(StatusBoard, AddsTheRefusalsOfTheProcess) {
  StatusBoard board;
  board.count_refusal("offer");
  board.count_refusal("late");
  board.post(at_ms(0), {.refusals = {{"late", 2}}});
  EXPECT_EQ(board.read().refusals, (WordCounts{{"late", 3}, {"offer", 1}}));
  board.post(at_ms(1), {.refusals = {{"late", 5}}});
  EXPECT_EQ(board.read().refusals, (WordCounts{{"late", 6}, {"offer", 1}}));
}

}  // namespace
}  // namespace tessera
