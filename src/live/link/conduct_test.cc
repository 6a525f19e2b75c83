// A connection on which a thousand bytes may come without a frame, and a thousand wait unread.
#include "live/link/conduct.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Conduct::Limits kFew = {.frameless_bytes_max = 1000, .unread_bytes_max = 1000};

TEST(Conduct, AMessageWithoutAnEndIsFoundByItsBytes) {
  Conduct conduct;
  EXPECT_EQ(conduct.fault({.received = 1000}, kFew), "");
  EXPECT_EQ(conduct.fault({.received = 1001}, kFew), "endless");
  conduct.frame_came();
  EXPECT_EQ(conduct.fault({.received = 5000}, kFew), "");
  EXPECT_EQ(conduct.fault({.received = 6000}, kFew), "");
  EXPECT_EQ(conduct.fault({.received = 6001}, kFew), "endless");
}

TEST(Conduct, WhatIsNotReadIsFoundByWhatDidNotArrive) {
  Conduct conduct;
  const auto look = [&](std::uint64_t arrived) {
    return conduct.fault({.arrived = arrived, .all_arrived = false}, kFew);
  };
  conduct.frame_went(958);
  EXPECT_EQ(look(0), "");
  conduct.frame_went(0);
  EXPECT_EQ(look(0), "unread");
  EXPECT_EQ(look(35), "");
}

// One that reads for days, but is never found without anything on its way, and one that is: neither
// gathers anything, neither for it nor against it.
TEST(Conduct, WhoReadsIsLeftAloneAndGathersNoCredit) {
  for (const bool all_arrived : {false, true}) {
    Conduct conduct;
    std::uint64_t arrived = 700;  // The handshake.
    for (int i = 0; i < 10'000; ++i) {
      for (const std::size_t bytes : {33u, 500u}) {
        conduct.frame_went(bytes);
        arrived += Conduct::wire_bytes(bytes);
      }
      ASSERT_EQ(conduct.fault({.arrived = arrived, .all_arrived = all_arrived}, kFew), "");
    }
    conduct.frame_went(2000);
    EXPECT_EQ(conduct.fault({.arrived = arrived, .all_arrived = false}, kFew), "unread");
  }
}

TEST(Looks, ComeByTheClockAndByWhatHasGoneOut) {
  const Conduct::Limits limits;
  Looks looks(limits);
  Instant now = Instant{} + limits.look_every;
  EXPECT_TRUE(looks.is_time(now));
  EXPECT_FALSE(looks.is_time(now));
  looks.frame_went(limits.look_every_bytes - 1);
  EXPECT_FALSE(looks.is_time(now));
  looks.frame_went(1);
  EXPECT_TRUE(looks.is_time(now));
  EXPECT_FALSE(looks.is_time(now));
  now += limits.look_every;
  EXPECT_TRUE(looks.is_time(now));
}

}  // namespace
}  // namespace tessera
