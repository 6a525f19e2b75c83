// One key in two processes, as a link sees it: hellos of two sessions, in turn.
#include <gtest/gtest.h>

#include "live/link/link.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// The same key in two processes, 5 and 6: the later one stays, the earlier one and whoever asks are
// told, and it is taken back when the later one is heard no more.
TEST(Link, OfTwoProcessesWithOneKeyTheLaterStaysAndItIsTold) {
  TransportOptions options;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 11, refusals);
  Instant now{};
  const auto hello = [&](std::uint64_t session, std::string_view route) {
    link.on_frame(now, route, encode(Hello{.session = session}));
    return link.next_answer()->frame;
  };
  EXPECT_TRUE(std::holds_alternative<Welcome>(hello(5, "first")));
  EXPECT_TRUE(std::holds_alternative<Welcome>(hello(6, "second")));
  EXPECT_TRUE(std::holds_alternative<Welcome>(hello(6, "again")));  // Its connection broke.
  EXPECT_TRUE(link.take_change());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::get<Reject>(hello(5, "first")).reason, RejectReason::kTwin);
  EXPECT_EQ(refusals, (WordCounts{{"twin", 3}}));
  EXPECT_TRUE(link.take_change());
  link.on_frame(now += 100ms, "again", encode(Heartbeat{}));
  EXPECT_TRUE(link.alive());
  EXPECT_NE(link.state().reason.find("two processes"), std::string::npos);
  EXPECT_FALSE(link.take_change());  // Said once.
  now += 11s;
  EXPECT_TRUE(std::holds_alternative<Welcome>(hello(5, "first")));
  EXPECT_EQ(link.state().reason, "");
}

TEST(Link, WhoHasATwinIsToldSo) {
  TransportOptions options;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 11, refusals);
  link.connect(Instant{});
  link.next_frame(Instant{});
  link.on_answer(Instant{}, encode(Reject{RejectReason::kTwin}));
  EXPECT_EQ(link.state().condition, PeerCondition::kRefused);
  EXPECT_NE(link.state().reason.find("another process has our key"), std::string::npos);
}

}  // namespace
}  // namespace tessera
