// Pauses of 100 ms at first and 1 s at most; a greeting is given up after 10 s.
#include "live/link/dialer.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since) {
  return Instant(since);
}

class DialerTest : public testing::Test {
 protected:
  // How long after `now` the next attempt may be made, in steps of a millisecond.
  Duration pause_after(Instant now) const {
    Duration pause{};
    while (!dialer_.may_dial(now + pause)) pause += 1ms;
    return pause;
  }
  void connect(Instant now) {
    dialer_.dial(now);
    ASSERT_TRUE(dialer_.take_hello());
    ASSERT_TRUE(dialer_.welcomed(now));
  }

  Dialer dialer_{{.pause_min = 100ms, .pause_max = 1s}, 10s, Random(1)};
};

TEST_F(DialerTest, PausesDoubleUpToTheLongest) {
  Instant now = at(1s);
  for (const Duration expected : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    ASSERT_TRUE(dialer_.may_dial(now));
    dialer_.dial(now);
    EXPECT_FALSE(dialer_.may_dial(now));
    dialer_.broke(now, false);
    const Duration pause = pause_after(now);
    EXPECT_GE(pause, expected * 3 / 4);
    EXPECT_LE(pause, expected * 5 / 4 + 1ms);
    now += pause;
  }
}

TEST_F(DialerTest, AConnectionThatLastedIsTriedAgainAtOnceAndABriefOneIsNot) {
  connect(at(1s));
  dialer_.broke(at(3s), false);
  EXPECT_TRUE(dialer_.may_dial(at(3s)));
  connect(at(3s));
  dialer_.broke(at(3050ms), false);
  EXPECT_FALSE(dialer_.may_dial(at(3050ms)));
  EXPECT_EQ(dialer_.connections(), 2u);
}

TEST_F(DialerTest, ARestIsNoBreakUnlessThePeerWasStartedAnewMeanwhile) {
  connect(at(1s));
  dialer_.rested(at(3s));
  EXPECT_TRUE(dialer_.may_dial(at(3s)));
  EXPECT_FALSE(dialer_.cut_off());
  connect(at(4s));
  EXPECT_EQ(dialer_.connections(), 1u);
  dialer_.rested(at(5s));
  dialer_.peer_is_there(at(6s), true);
  EXPECT_TRUE(dialer_.cut_off());
  connect(at(6s));
  EXPECT_FALSE(dialer_.cut_off());
  EXPECT_EQ(dialer_.connections(), 2u);
  dialer_.broke(at(9s), false);
  EXPECT_TRUE(dialer_.cut_off());
}

TEST_F(DialerTest, OneThatRefusesUsIsLeftAloneForLong) {
  dialer_.dial(at(1s));
  dialer_.broke(at(1s), true);
  EXPECT_EQ(pause_after(at(1s)), Duration(1s));
}

TEST_F(DialerTest, SaysHelloOnceAndHangsUpWhenNothingIsAnswered) {
  EXPECT_FALSE(dialer_.take_hello());
  dialer_.dial(at(1s));
  EXPECT_TRUE(dialer_.take_hello());
  EXPECT_FALSE(dialer_.take_hello());
  EXPECT_FALSE(dialer_.wants_hang_up(at(11s), 2s));
  EXPECT_TRUE(dialer_.wants_hang_up(at(12s), 2s));
  EXPECT_TRUE(dialer_.welcomed(at(12s)));
  EXPECT_FALSE(dialer_.welcomed(at(13s)));  // It is open.
  dialer_.answered(at(14s));
  EXPECT_FALSE(dialer_.wants_hang_up(at(18s), 2s));
  EXPECT_TRUE(dialer_.wants_hang_up(at(19s), 2s));
}

TEST_F(DialerTest, APeerThatIsHeardEndsThePauseAndItsFormerLifeTheConnection) {
  dialer_.dial(at(1s));
  dialer_.broke(at(1s), true);
  dialer_.peer_is_there(at(1s), false);
  EXPECT_TRUE(dialer_.may_dial(at(1s)));
  connect(at(1s));
  EXPECT_FALSE(dialer_.wants_hang_up(at(1s), 2s));
  dialer_.peer_is_there(at(1s), true);
  EXPECT_TRUE(dialer_.wants_hang_up(at(1s), 2s));
}

}  // namespace
}  // namespace tessera
