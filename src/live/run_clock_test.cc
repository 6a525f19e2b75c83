#include "live/run_clock.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

Bytes saved(const RunClock& clock) {
  Bytes state;
  save_fields(clock, state);
  return state;
}

// A clock of a run that is `age` old, saved on a machine that was started a day before.
Bytes saved_at(Duration age) {
  Bytes state;
  ByteWriter writer(state);
  writer.put(age.count());
  writer.put<std::uint64_t>(5);
  writer.put(Duration(24h).count());
  return state;
}

// How old the run is for a process on such a machine.
Duration age_on(MachineMoment machine, const Bytes& state, double began_at = 0) {
  RunClock clock(began_at, [&] { return machine; });
  ByteReader in(state);
  EXPECT_TRUE(load_fields(clock, in).ok());
  clock.start();
  return clock.now().time_since_epoch();
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

// A time of day is in nothing that was saved: setting the clock makes no run older or younger.
TEST(RunClock, TheTimeBetweenTwoProcessesIsTheMachinesOwn) {
  const Bytes state = saved_at(60s);
  const auto expect_age = [](Duration age, Duration expected) {
    EXPECT_GE(age, expected);
    EXPECT_LT(age, expected + 30s);
  };
  expect_age(age_on({.boot = 5, .since = 24h + 1h}, state), 60s + 1h);
  expect_age(age_on({.boot = 6, .since = 25h}, state), 60s);  // Switched off in between.
  expect_age(age_on({.boot = 6, .since = 1min}, state), 60s);
  expect_age(age_on({.boot = 5, .since = 23h}, state), 60s);
}

TEST(RunClock, AMomentThatWasGivenCountsMoreThanTheCheckpoints) {
  const Duration age = age_on({.boot = 5, .since = 24h}, saved_at(60s), 1e9);
  EXPECT_GT(age, Duration(24h * 365 * 20));
}

TEST(RunClock, ARunIsNeverYoungerThanItsBeginning) {
  RunClock clock(1e10);  // In 2286.
  clock.start();
  EXPECT_GE(clock.now(), Instant{});
}

TEST(RunClock, RefusesAnAgeThatCannotBe) {
  for (const Duration wrong : {Duration(-1s), Duration::max(), Duration::min()}) {
    const Bytes state = saved_at(wrong);
    RunClock clock(0);
    ByteReader in(state);
    EXPECT_FALSE(load_fields(clock, in).ok()) << wrong.count();
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
