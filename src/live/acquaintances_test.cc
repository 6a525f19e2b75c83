#include "live/acquaintances.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// One that knew peers 1, 2 and 3 and comes back from its checkpoint.
Acquaintances come_back() {
  Acquaintances before(7), after(8);
  for (const NodeId peer : {1u, 2u, 3u}) before.meet(peer, 10 + peer);
  Bytes state;
  save_fields(before, state);
  ByteReader in(state);
  EXPECT_TRUE(load_fields(after, in).ok());
  return after;
}

TEST(Acquaintances, ABirthSurvivesARestart) {
  EXPECT_EQ(come_back().birth(), 7u);
}

TEST(Acquaintances, WhenMostOthersAreBornAnewOneIsOfAnEarlierRun) {
  Acquaintances back = come_back();
  back.meet(1, 91);
  EXPECT_FALSE(back.outlived());  // One machine may have lost its disk.
  back.meet(2, 12);
  back.meet(3, 93);
  EXPECT_TRUE(back.outlived());
}

TEST(Acquaintances, HalfOfThemAreEnoughToKnowThatTheRunIsTheSame) {
  Acquaintances back = come_back();
  back.meet(1, 11);
  EXPECT_FALSE(back.confirmed());  // The other two may be born anew.
  back.meet(2, 12);
  EXPECT_TRUE(back.confirmed());
  back.meet(3, 93);
  EXPECT_FALSE(back.outlived());
  EXPECT_TRUE(Acquaintances(7).confirmed());
}

TEST(Acquaintances, OneByOneTheyMayBeReplacedWhileItRuns) {
  Acquaintances back = come_back();
  for (const NodeId peer : {1u, 2u, 3u}) back.meet(peer, 10 + peer);
  for (const NodeId peer : {1u, 2u, 3u}) back.meet(peer, 90 + peer);
  EXPECT_FALSE(back.outlived());
}

// Only 2 is linked to; of the others nothing will be heard.
TEST(Acquaintances, ThoseThatAreNotLinkedToDoNotCount) {
  const std::vector<NodeId> linked = {2, 9};
  Acquaintances back = come_back();
  back.expect(linked);
  EXPECT_FALSE(back.confirmed());
  back.meet(2, 12);
  EXPECT_TRUE(back.confirmed());
  Acquaintances stale = come_back();
  stale.expect(linked);
  stale.meet(1, 91);
  EXPECT_FALSE(stale.outlived());
  stale.meet(2, 92);
  EXPECT_TRUE(stale.outlived());
}

TEST(Acquaintances, ANewcomerIsOfWhateverRunItMeets) {
  Acquaintances fresh(7);
  fresh.meet(1, 11);
  fresh.meet(1, 12);
  EXPECT_FALSE(fresh.outlived());
}

}  // namespace
}  // namespace tessera
