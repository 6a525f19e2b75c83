#include "codec/share.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tessera {
namespace {

// The wire format promises word i of the stream against the threshold, and nothing else.
TEST(Drawn, IsTheStreamAgainstTheThreshold) {
  const Drawn drawn{.seed = 90, .threshold = threshold_of(0.37)};
  Random stream(90);
  Indices expected;
  for (std::uint32_t i = 0; i < 1000; ++i)
    if (stream.bits() < drawn.threshold) expected.push_back(i);
  EXPECT_EQ(draw_indices(drawn, 1000), expected);
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
