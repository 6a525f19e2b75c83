#include "codec/share.h"

#include <gtest/gtest.h>

#include "codec/splitmix.h"

namespace tessera {
namespace {

// The first outputs for the seeds 0 and 1234567, as the generator's other implementations give
// them.
TEST(SplitMix64, MatchesThePublishedOutputs) {
  EXPECT_EQ(splitmix64(0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(splitmix64(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(splitmix64(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(splitmix64(1234567, 4), 16408922859458223821u);
}

// The wire format promises the upper half of output i against the threshold, and nothing else.
TEST(Drawn, IsTheGeneratorAgainstTheThreshold) {
  for (const double fraction : {0.001, 0.1, 0.37, 0.99}) {
    const Drawn drawn{.seed = 90, .threshold = threshold_of(fraction)};
    Indices expected;
    for (std::uint32_t i = 0; i < 5000; ++i)
      if (splitmix64(90, i) >> 32 < drawn.threshold) expected.push_back(i);
    EXPECT_EQ(draw_indices(drawn, 5000), expected);
  }
}

// 37% of 100,000 is 37,000 with a standard deviation of 153.
TEST(Drawn, HasItsFraction) {
  const auto indices = draw_indices({.seed = 7, .threshold = threshold_of(0.37)}, 100'000);
  EXPECT_NEAR(static_cast<double>(indices.size()), 37'000, 5 * 153);
}

TEST(Drawn, EdgesAreDefined) {
  EXPECT_EQ(threshold_of(0), 0u);
  EXPECT_EQ(threshold_of(0.5), 1u << 31);
  EXPECT_EQ(threshold_of(1 - 1e-15), 0xffffffffu);
  EXPECT_TRUE(draw_indices({.seed = 1, .threshold = 0}, 1000).empty());
  EXPECT_TRUE(draw_indices({.seed = 1, .threshold = 0xffffffff}, 0).empty());
  EXPECT_EQ(draw_indices({.seed = 1, .threshold = 0xffffffff}, 1000).size(), 1000u);
}

}  // namespace
}  // namespace tessera
