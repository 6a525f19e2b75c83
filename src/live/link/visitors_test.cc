// Connections by their descriptors: two may be silent, and each member may have one.
#include "live/link/visitors.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Visitors few() {
  return Visitors({.silent_max = 2, .member_max = 1});
}
using Named = std::vector<int>;

TEST(Visitors, TheOldestOfTooManySilentOnesIsNamedOnce) {
  Visitors visitors = few();
  for (const int descriptor : {7, 8}) visitors.came(descriptor);
  EXPECT_EQ(visitors.take_surplus(), Named{});
  visitors.came(6);
  EXPECT_EQ(visitors.take_surplus(), Named{7});
  EXPECT_EQ(visitors.take_surplus(), Named{});
  EXPECT_FALSE(visitors.left(7));
  EXPECT_FALSE(visitors.left(8));
  visitors.came(7);  // The descriptor is used again, by another connection.
  EXPECT_EQ(visitors.silent(), 2u);
  EXPECT_EQ(visitors.take_surplus(), Named{});
}

TEST(Visitors, WhoHasSpokenIsAMemberAndHasABoundOfItsOwn) {
  Visitors visitors = few();
  visitors.spoke(5, 0);  // Heard before it was announced.
  visitors.came(5);
  for (const int descriptor : {6, 7, 8}) visitors.came(descriptor);
  visitors.spoke(6, 1);
  EXPECT_EQ(visitors.take_surplus(), Named{});
  visitors.spoke(7, 0);
  EXPECT_EQ(visitors.take_surplus(), Named{5});
  EXPECT_TRUE(visitors.left(5));
  visitors.spoke(7, 0);
  EXPECT_EQ(visitors.take_surplus(), Named{});
  EXPECT_FALSE(visitors.left(8));
  EXPECT_FALSE(visitors.left(99));
}

TEST(Visitors, AMembersConnectionsAreNamedTogether) {
  Visitors visitors({.silent_max = 2, .member_max = 3});
  for (const int descriptor : {5, 6, 7}) visitors.spoke(descriptor, descriptor == 6 ? 1 : 0);
  EXPECT_EQ(visitors.take_all_of(0), (Named{5, 7}));
  EXPECT_EQ(visitors.take_all_of(0), Named{});
  EXPECT_EQ(visitors.take_all_of(9), Named{});
}

TEST(Visitors, WhoseConductIsNotBorneIsNamedOnceWithItsKey) {
  Visitors visitors({.conduct = {.frameless_bytes_max = 1000, .unread_bytes_max = 1000}});
  visitors.spoke(5, 3, "five");
  visitors.spoke(6, 4, "six");
  visitors.came(7);
  std::map<int, Conduct::Counts> counts = {{5, {}}, {6, {}}, {7, {.received = 900}}};
  using Found = std::vector<Visitors::Misbehaved>;
  const auto look = [&] {
    return visitors.take_misbehaved([&](int descriptor) { return counts.at(descriptor); });
  };
  EXPECT_EQ(look(), Found{});
  visitors.spoke(5, 3, "five");
  visitors.answered("six", 2000);
  visitors.answered("nobody", 2000);
  counts = {{5, {.received = 2000}}, {6, {.all_arrived = false}}, {7, {.received = 1001}}};
  EXPECT_EQ(look(), (Found{{6, 4, "unread"}, {7, {}, "endless"}}));
  EXPECT_EQ(look(), Found{});
}

// The descriptor is used again before its former owner's end is reported.
TEST(Visitors, AnswersCountForWhoeverHasTheRouteNow) {
  Visitors visitors({.conduct = {.unread_bytes_max = 1000}});
  visitors.spoke(5, 0, "former");
  visitors.answered("former", 2000);
  visitors.spoke(5, 1, "next");
  visitors.answered("former", 2000);
  const auto look = [&] {
    return visitors.take_misbehaved([](int) { return Conduct::Counts{.all_arrived = false}; });
  };
  EXPECT_TRUE(look().empty());
  visitors.left(5);
  visitors.answered("next", 2000);
  EXPECT_TRUE(look().empty());
}

// Whatever comes and goes, nothing is remembered of those who have left.
TEST(Visitors, AreForgottenWhenTheyLeave) {
  Visitors visitors = few();
  for (int i = 0; i < 10'000; ++i) {
    visitors.came(i % 50);
    visitors.take_surplus();
    EXPECT_LE(visitors.silent(), 2u);
    if (i % 3 == 0) visitors.left(i % 50);
  }
  for (int i = 0; i < 50; ++i) visitors.left(i);
  EXPECT_EQ(visitors.silent(), 0u);
}

}  // namespace
}  // namespace tessera
