#include "live/effort.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since) {
  return Instant(since);
}

class EffortTest : public testing::Test {
 protected:
  Effort effort_{{.skipped_max = 0.1, .alone_max = 0.5, .alone_min = 5s}};
  std::vector<PeerState> there_{{.id = 1, .condition = PeerCondition::kAlive}, {.id = 2}};
  std::vector<PeerState> nobody_{{.id = 1, .condition = PeerCondition::kLost}, {.id = 2}};
};

TEST_F(EffortTest, ATenthMayBeSkipped) {
  EXPECT_EQ(effort_.skipped({.rounds = 100, .trainings = 90}), 10u);
  EXPECT_EQ(effort_.shortfall({.rounds = 100, .trainings = 90}), "");
  EXPECT_EQ(effort_.shortfall({.rounds = 100, .trainings = 89}),
            "11 of 100 rounds were skipped, more than 10% of them");
}

TEST_F(EffortTest, WhatWasBeforeItJoinedIsNotItsWork) {
  effort_.join(60);
  EXPECT_EQ(effort_.shortfall({.rounds = 100, .trainings = 38}), "");
  EXPECT_NE(effort_.shortfall({.rounds = 100, .trainings = 30}), "");
  EXPECT_EQ(effort_.skipped({.rounds = 50, .trainings = 0}), 0u);
}

// Neighbours are lost, while one that is no neighbour rests or is there.
TEST_F(EffortTest, CompanyAreThoseWhomItKeepsLinksTo) {
  for (const PeerCondition other : {PeerCondition::kIdle, PeerCondition::kAlive}) {
    const std::vector<PeerState> peers{
        {.id = 1, .condition = PeerCondition::kLost},
        {.id = 2, .condition = other, .wanted = false, .last_heard = at(1s)}};
    Effort effort({.alone_min = 5s});
    effort.look(at(1s), peers, {});
    EXPECT_NE(effort.look(at(7s), peers, {}), "");
  }
}

// It tells whom it likes, and nobody just now.
TEST_F(EffortTest, WhereLinksAreMadeAsNeededThoseWhoRestAreCompany) {
  std::vector<PeerState> peers{{.id = 1, .condition = PeerCondition::kIdle, .wanted = false}};
  effort_.look(at(1s), peers, {});
  EXPECT_NE(effort_.look(at(7s), peers, {}), "");  // It has never been there.
  peers[0].last_heard = at(8s);
  EXPECT_NE(effort_.look(at(9s), peers, {}), "");
  EXPECT_EQ(effort_.alarm(at(30s)), "");
}

TEST_F(EffortTest, BeingAloneIsSaidAfterAWhileThenMoreRarely) {
  EXPECT_EQ(effort_.look(at(1s), nobody_, {.trainings = 1}), "");
  EXPECT_EQ(effort_.look(at(5s), nobody_, {.trainings = 2}), "");
  EXPECT_NE(effort_.look(at(6s), nobody_, {.trainings = 3}), "");
  EXPECT_NE(effort_.alarm(at(6s)), "");
  EXPECT_EQ(effort_.look(at(7s), nobody_, {.trainings = 4}), "");
  EXPECT_NE(effort_.look(at(11s), nobody_, {.trainings = 5}), "");
  EXPECT_EQ(effort_.look(at(20s), nobody_, {.trainings = 6}), "");
  EXPECT_NE(effort_.look(at(21s), there_, {.trainings = 6}), "");
  EXPECT_EQ(effort_.look(at(22s), there_, {.trainings = 6}), "");
  EXPECT_EQ(effort_.alarm(at(22s)), "");
  EXPECT_EQ(effort_.trained_alone(), 5u);
}

TEST_F(EffortTest, MostWorkDoneAloneIsNotFinished) {
  effort_.look(at(1s), nobody_, {.trainings = 0});
  effort_.look(at(2s), nobody_, {.trainings = 60});
  EXPECT_NE(effort_.shortfall({.rounds = 100, .trainings = 100}), "");
  EXPECT_EQ(effort_.shortfall({.rounds = 130, .trainings = 130}), "");
}

TEST_F(EffortTest, ARosterOfOneIsNotAlone) {
  effort_.look(at(1s), {}, {.trainings = 1});
  EXPECT_EQ(effort_.look(at(1h), {}, {.trainings = 2}), "");
  EXPECT_EQ(effort_.trained_alone(), 0u);
}

TEST_F(EffortTest, SurvivesARestart) {
  effort_.join(60);
  effort_.look(at(1s), nobody_, {.trainings = 0});
  effort_.look(at(2s), nobody_, {.trainings = 7});
  Bytes state;
  save_fields(effort_, state);
  Effort again{{}};
  ByteReader in(state);
  ASSERT_TRUE(load_fields(again, in).ok());
  EXPECT_EQ(again.trained_alone(), 7u);
  EXPECT_EQ(again.skipped({.rounds = 70, .trainings = 10}), 0u);
}

}  // namespace
}  // namespace tessera
