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
  EXPECT_EQ(board.read().refusals, (Refusals{{"late", 2}}));
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

// The node counts its own refusals; those of the process are on top, and are not forgotten.
TEST(StatusBoard, AddsTheRefusalsOfTheProcess) {
  StatusBoard board;
  board.count_refusal("offer");
  board.count_refusal("late");
  board.post(at_ms(0), {.refusals = {{"late", 2}}});
  EXPECT_EQ(board.read().refusals, (Refusals{{"late", 3}, {"offer", 1}}));
  board.post(at_ms(1), {.refusals = {{"late", 5}}});
  EXPECT_EQ(board.read().refusals, (Refusals{{"late", 6}, {"offer", 1}}));
}

}  // namespace
}  // namespace tessera
