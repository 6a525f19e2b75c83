#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tessera {
namespace {

// Philox4x32-10 with key and counter zero, from the known-answer file that comes with Random123.
TEST(Random, MatchesThePublishedVector) {
  Random random(0);
  EXPECT_EQ(random.bits(), 0x6627e8d5u);
  EXPECT_EQ(random.bits(), 0xe169c58du);
  EXPECT_EQ(random.bits(), 0xbc57ac4cu);
  EXPECT_EQ(random.bits(), 0x9b00dbd8u);
}

TEST(Random, ForksDependOnNameAndIndexAloneNotOnDraws) {
  Random root(90);
  const std::uint64_t before = root.fork("node", 3).fork("cut-off").bits64();
  for (int i = 0; i < 100; ++i) (void)root.bits();
  EXPECT_EQ(root.fork("node", 3).fork("cut-off").bits64(), before);
  std::set<std::uint64_t> firsts;
  for (const char* purpose : {"cut-off", "batch", "peers", "noise"})
    for (std::uint64_t index = 0; index < 250; ++index)
      firsts.insert(root.fork(purpose, index).bits64());
  EXPECT_EQ(firsts.size(), 1000u);
}

TEST(Random, ContinuesFromASavedState) {
  Random random(7);
  for (int i = 0; i < 13; ++i) (void)random.bits();
  Random restored(random.state());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(restored.bits(), random.bits());
}

// 7 does not divide 2^64. Each of 7 bins of 70,000 draws holds 10,000 +- 5 standard deviations
// (93).
TEST(Random, BelowIsEven) {
  Random random(1);
  std::array<int, 7> bins{};
  for (int i = 0; i < 70000; ++i) ++bins[random.below(7)];
  for (const int count : bins) EXPECT_NEAR(count, 10000, 465);
  EXPECT_EQ(Random(2).below(1), 0u);
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  Random random(3);
  double sum = 0, sum_normal = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform(), z = random.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_TRUE(std::isfinite(z));
    sum += u, sum_normal += z, squares += z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(sum_normal / kDraws, 0.0, 0.016);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.025);
}

TEST(Random, SampleIsDistinctAndCoversAll) {
  Random random(4);
  for (std::uint32_t n : {1u, 2u, 17u, 1000u}) {
    for (std::uint32_t count : {0u, 1u, n / 2, n}) {
      auto chosen = random.sample(n, count);
      ASSERT_EQ(chosen.size(), count);
      std::sort(chosen.begin(), chosen.end());
      EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end());
      EXPECT_TRUE(chosen.empty() || chosen.back() < n);
    }
  }
}

TEST(Random, ShuffleKeepsEveryItem) {
  std::vector<int> items(500);
  std::iota(items.begin(), items.end(), 0);
  Random(5).shuffle(std::span(items));
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
  std::sort(items.begin(), items.end());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace tessera
