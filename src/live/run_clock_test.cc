#include "live/run_clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

using namespace std::chrono_literals;

Bytes saved(const RunClock& clock) {
  Bytes state;
  save_fields(clock, state);
  return state;
}

TEST(RunClock, GoesOnWhereTheRunWas) {
  RunClock first(1e9);  // In 2001.
  first.start();
  RunClock second(0);
  const Bytes state = saved(first);
  ByteReader in(state);
  ASSERT_TRUE(load_fields(second, in).ok());
  second.start();
  EXPECT_GT(second.now(), Instant(1h));
  EXPECT_LT(second.now() - first.now(), 1min);
}

TEST(RunClock, AMomentThatWasGivenCountsMoreThanTheCheckpoints) {
  const Bytes state = saved(RunClock(1e9));
  RunClock given(1.5e9);
  ByteReader in(state);
  ASSERT_TRUE(load_fields(given, in).ok());
  EXPECT_EQ(saved(given), saved(RunClock(1.5e9)));
}

TEST(RunClock, RefusesABeginningThatCannotBe) {
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), 1e300, -1e11}) {
    Bytes state;
    ByteWriter(state).put(wrong);
    RunClock clock(0);
    ByteReader in(state);
    EXPECT_FALSE(load_fields(clock, in).ok()) << wrong;
  }
}

TEST(RunClock, WakesInOrderAndTimeStandsStillDuringAnEvent) {
  RunClock clock(0);
  clock.start();
  EXPECT_FALSE(clock.take_wake_up());
  EXPECT_EQ(clock.until_wake_up(50ms), Duration(50ms));
  const Instant at = clock.begin_event();
  clock.wake_after(1h);
  clock.wake_after(0s);
  EXPECT_EQ(clock.event_at(), at);
  EXPECT_EQ(clock.until_wake_up(50ms), Duration::zero());
  EXPECT_TRUE(clock.take_wake_up());
  EXPECT_FALSE(clock.take_wake_up());
}

}  // namespace
}  // namespace tessera
