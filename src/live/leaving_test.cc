// A node may linger for 10 s once it has finished, and take 5 s to stop.
#include "live/leaving.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since) {
  return Instant(since);
}

class LeavingTest : public testing::Test {
 protected:
  Census census_{0};
  Leaving leaving_{{.stop_within = 5s, .linger = 10s}, census_};
  std::vector<PeerState> peers_{{.id = 1}, {.id = 2}};
};

TEST_F(LeavingTest, AskedToStopItCompletesItsRound) {
  EXPECT_FALSE(leaving_.begin_to_stop(at(1s), 7));
  leaving_.ask();
  EXPECT_TRUE(leaving_.begin_to_stop(at(1s), 7));
  EXPECT_FALSE(leaving_.begin_to_stop(at(2s), 8));  // It has begun to.
  EXPECT_FALSE(leaving_.may_leave(at(2s), 7, false, peers_));
  EXPECT_TRUE(leaving_.may_leave(at(2s), 8, false, peers_));
  EXPECT_TRUE(leaving_.past_last_round(8));
}

TEST_F(LeavingTest, ARoundThatDoesNotEndIsNotWaitedForButTrainingIs) {
  leaving_.ask();
  leaving_.begin_to_stop(at(1s), 7);
  EXPECT_FALSE(leaving_.may_leave(at(6s), 7, true, peers_));
  EXPECT_TRUE(leaving_.may_leave(at(6s), 7, false, peers_));
}

TEST_F(LeavingTest, FinishedItStaysUntilItsPeersAreDone) {
  leaving_.finish(at(1s));
  leaving_.peer_finished(1);
  EXPECT_FALSE(leaving_.may_leave(at(2s), 7, false, peers_));
  leaving_.peer_finished(2);
  EXPECT_TRUE(leaving_.may_leave(at(2s), 7, false, peers_));
  leaving_.peer_came_back(2);
  EXPECT_FALSE(leaving_.may_leave(at(2s), 7, false, peers_));
  peers_[1].condition = PeerCondition::kGone;
  EXPECT_TRUE(leaving_.may_leave(at(2s), 7, false, peers_));
}

TEST_F(LeavingTest, NobodyWaitsForWhoIsNotLinkedNorForWhoHasLongFinishedAndGone) {
  leaving_.finish(at(1s));
  leaving_.peer_finished(1);
  peers_[1] = {.id = 2, .condition = PeerCondition::kIdle, .wanted = false};
  EXPECT_TRUE(leaving_.may_leave(at(2s), 7, false, peers_));
  peers_[1] = {.id = 2, .condition = PeerCondition::kLost};
  EXPECT_FALSE(leaving_.may_leave(at(2s), 7, false, peers_));
  census_.finished(2);
  EXPECT_TRUE(leaving_.may_leave(at(2s), 7, false, peers_));
  peers_[1].condition = PeerCondition::kAlive;  // It may have been started anew.
  EXPECT_FALSE(leaving_.may_leave(at(2s), 7, false, peers_));
}

TEST_F(LeavingTest, FinishedItDoesNotStayForEver) {
  leaving_.finish(at(1s));
  EXPECT_FALSE(leaving_.may_leave(at(10s), 7, false, peers_));
  EXPECT_TRUE(leaving_.may_leave(at(11s), 7, false, peers_));
  leaving_.ask();
  EXPECT_TRUE(leaving_.may_leave(at(2s), 7, false, peers_));
}

}  // namespace
}  // namespace tessera
