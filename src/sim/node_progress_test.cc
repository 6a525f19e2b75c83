#include "sim/node_progress.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(NodeProgress, KnowsTheSlowest) {
  NodeProgress progress(3);
  EXPECT_EQ(progress.slowest(), 0u);
  for (NodeId node = 0; node < 3; ++node) progress.note(node, {.rounds = 2 + node, .age = 7});
  EXPECT_EQ(progress.slowest(), 2u);
  EXPECT_EQ(progress.age(1), 7u);
  progress.note(2, {.rounds = 1});  // It came back from a crash.
  EXPECT_EQ(progress.slowest(), 1u);
  EXPECT_EQ(progress.rounds(2), 1u);
}

TEST(NodeProgress, KnowsWhenAllHaveFinished) {
  NodeProgress progress(2);
  progress.note(0, {.finished = true});
  EXPECT_FALSE(progress.all_finished());
  progress.note(1, {.finished = true});
  EXPECT_TRUE(progress.all_finished());
  progress.note(1, {.finished = false});
  EXPECT_FALSE(progress.all_finished());
}

// A round done again after a crash was told of before.
TEST(NodeProgress, TellsOfARoundOnce) {
  NodeProgress progress(1);
  EXPECT_FALSE(progress.tell(0));
  progress.note(0, {.rounds = 5});
  EXPECT_TRUE(progress.tell(0));
  EXPECT_FALSE(progress.tell(0));
  progress.note(0, {.rounds = 4});
  progress.note(0, {.rounds = 5});
  EXPECT_FALSE(progress.tell(0));

  NodeProgress loaded(1);
  Bytes saved;
  save_fields(progress, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded, in).ok());
  loaded.note(0, {.rounds = 5});
  EXPECT_FALSE(loaded.tell(0));
  loaded.note(0, {.rounds = 6});
  EXPECT_TRUE(loaded.tell(0));
}

}  // namespace
}  // namespace tessera
