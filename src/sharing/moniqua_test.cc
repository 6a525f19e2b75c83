#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "sharing/sharing.h"
#include "sharing/world_for_tests.h"

namespace tessera {
namespace {

TEST(Moniqua, TellsFewLevelsBelowTheta) {
  const auto sharing = make_sharing("moniqua:theta=0.5,bits=3", {.dimension = 1000});
  const Share share = sharing->pack(test_model(1000, 1), Random(1)).front();
  std::set<float> levels(share.values.begin(), share.values.end());
  EXPECT_EQ(levels.size(), 8u);
  EXPECT_EQ(*levels.begin(), -0.25f);
  EXPECT_EQ(*levels.rbegin(), 0.1875f);
  for (const float value : share.values) EXPECT_FALSE(value == 0 && std::signbit(value));
}

// Nodes that differ by less than half of theta average as if whole values had travelled, to a unit.
TEST(Moniqua, WithinTheBoundItAverages) {
  constexpr float kUnit = 0.25f / 256;
  TestWorld world("moniqua:theta=0.25,bits=8", 2, test_model(300, 2));
  for (Vector& model : world.models) {
    Random random(static_cast<std::uint64_t>(&model - world.models.data()));
    for (float& value : model) value += 0.1f * (static_cast<float>(random.uniform()) - 0.5f);
  }
  const std::vector<Vector> before = world.models;
  world.exchange(Random(1));
  for (std::size_t k = 0; k < 300; ++k) {
    EXPECT_NEAR(world.models[0][k], (before[0][k] + before[1][k]) / 2, kUnit) << k;
    // Rounding moves the two models, and not their mean.
    EXPECT_NEAR(world.models[0][k] + world.models[1][k], before[0][k] + before[1][k], 1e-5f);
  }
}

TEST(Moniqua, BeyondTheBoundItMovesByHalfOfThetaAtMost) {
  TestWorld world("moniqua:theta=0.25,bits=4", 2, Vector{0.0f, 0.0f});
  world.models[1] = {0.3f, 10.0f};
  world.exchange(Random(1));
  for (std::size_t k = 0; k < 2; ++k) EXPECT_LE(std::fabs(world.models[0][k]), 0.125f);
}

TEST(Moniqua, RefusesWhatCannotBe) {
  EXPECT_THROW((void)make_sharing("moniqua", {.dimension = 9, .lossless_codec = false}),
               std::invalid_argument);
  const auto sharing = make_sharing("moniqua:theta=0.25", {.dimension = 2});
  EXPECT_TRUE(admit(*sharing, {.dimension = 2, .values = {0.125f, -0.125f}}).ok());
  EXPECT_FALSE(admit(*sharing, {.dimension = 2, .values = {0.2f, 0}}).ok());
  EXPECT_FALSE(admit(*sharing, {.dimension = 2, .coordinates = Listed{{1}}, .values = {0}}).ok());
}

}  // namespace
}  // namespace tessera
