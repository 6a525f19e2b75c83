#include "live/link/liveness.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since) {
  return Instant(since);
}

class LivenessTest : public testing::Test {
 protected:
  Liveness liveness_{{.interval = 100ms, .silence_min = 1s, .silence_max = 2s}};
};

TEST_F(LivenessTest, OneThatIsHeardIsAliveUntilItsDeadline) {
  EXPECT_EQ(liveness_.condition(), PeerCondition::kConnecting);
  EXPECT_FALSE(liveness_.take_change());
  liveness_.heard(at(1s));
  EXPECT_TRUE(liveness_.alive());
  EXPECT_TRUE(liveness_.take_change());
  EXPECT_FALSE(liveness_.take_change());
  liveness_.tick(at(2s));
  EXPECT_TRUE(liveness_.alive());
  liveness_.tick(at(4s));
  EXPECT_EQ(liveness_.condition(), PeerCondition::kSilent);
  EXPECT_NE(liveness_.reason().find("nothing heard for"), std::string::npos);
  liveness_.heartbeat(at(5s));
  EXPECT_TRUE(liveness_.alive());
  EXPECT_EQ(liveness_.reason(), "");
}

TEST_F(LivenessTest, OneThatSaidGoodbyeStaysGoneUntilItSaysHello) {
  liveness_.said_hello(at(1s));
  liveness_.said_goodbye(at(2s));
  liveness_.heard(at(3s));
  EXPECT_EQ(liveness_.condition(), PeerCondition::kGone);
  EXPECT_EQ(liveness_.last_heard(), at(3s));
  liveness_.said_hello(at(4s));
  EXPECT_TRUE(liveness_.alive());
}

TEST_F(LivenessTest, AnExplanationIsNoChange) {
  liveness_.explain("cannot reach it");
  EXPECT_EQ(liveness_.reason(), "cannot reach it");
  EXPECT_FALSE(liveness_.take_change());
}

}  // namespace
}  // namespace tessera
