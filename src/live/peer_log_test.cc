// Changes of peers, and how many of them make a line.
#include "live/peer_log.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(PeerLog, SaysWhoIsWhatAndWhy) {
  PeerLog log;
  EXPECT_EQ(log.line({.name = "bob", .condition = PeerCondition::kAlive}, Instant{}),
            "bob is alive");
  EXPECT_EQ(log.line({.name = "bob", .condition = PeerCondition::kGone, .reason = "said goodbye"},
                     Instant{}),
            "bob is gone: said goodbye");
}

TEST(PeerLog, WarnsOfPeersThatShouldBeThere) {
  EXPECT_EQ(level_of(PeerCondition::kAlive), LogLevel::kInfo);
  EXPECT_EQ(level_of(PeerCondition::kGone), LogLevel::kInfo);
  for (const auto condition :
       {PeerCondition::kSilent, PeerCondition::kLost, PeerCondition::kRefused})
    EXPECT_EQ(level_of(condition), LogLevel::kWarning);
}

TEST(PeerLog, LinksThatRestAreNothingToTell) {
  PeerLog log;
  PeerState bob{.name = "bob", .condition = PeerCondition::kAlive, .last_heard = Instant(1s)};
  EXPECT_TRUE(log.line(bob, Instant{}));
  for (int i = 0; i < 3; ++i) {
    bob.condition = PeerCondition::kIdle;
    EXPECT_FALSE(log.line(bob, Instant{}));
    bob.condition = PeerCondition::kAlive;
    EXPECT_FALSE(log.line(bob, Instant{}));
  }
  bob.condition = PeerCondition::kIdle;
  EXPECT_FALSE(log.line(bob, Instant{}));
  bob.condition = PeerCondition::kLost;
  EXPECT_TRUE(log.line(bob, Instant{}));
  bob.condition = PeerCondition::kAlive;
  EXPECT_EQ(log.line(bob, Instant{}), "bob is alive");
}

// 4,742 pairs of hello and goodbye in ten seconds by one member, while another changes once.
TEST(PeerLog, AStormMakesFewLinesAndSaysWhatIsMissing) {
  PeerLog log;
  const PeerState stormy{.id = 1, .name = "carol", .condition = PeerCondition::kAlive};
  Instant now{};
  std::size_t lines = 0;
  for (int i = 0; i < 2 * 4742; ++i, now += 1ms) lines += log.line(stormy, now).has_value();
  EXPECT_EQ(lines, 10u);
  EXPECT_TRUE(log.line({.id = 2, .name = "dave", .condition = PeerCondition::kLost}, now));
  now = Instant{} + 61s;
  EXPECT_EQ(log.line(stormy, now), "carol is alive (9474 changes before this one were not told)");
  EXPECT_EQ(log.line(stormy, now), "carol is alive");
}

}  // namespace
}  // namespace tessera
