// The plain solver on systems worked out by hand, its defining property on random ones, and the
// level of a single link against it.
#include "math/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace tessera {
namespace {

using Rates = std::vector<double>;

// Two flows x, y share link 0 of capacity 10 and nothing else holds them: 5 each.
TEST(MaxMin, SharesOneLinkEvenly) {
  EXPECT_EQ(plain::max_min_rates(Rates{10, 100, 100}, std::vector<SharedFlow>{{{0, 1}}, {{0, 2}}}),
            (Rates{5, 5}));
}

// Links a = 10, b = 4, c = 100; x over a and c, y over a and b, z over b and c.
// b is the tightest: y = z = 2. x takes the rest of a: 8.
TEST(MaxMin, GivesWhatABottleneckElsewhereLeaves) {
  EXPECT_EQ(plain::max_min_rates(Rates{10, 4, 100},
                                 std::vector<SharedFlow>{{{0, 2}}, {{0, 1}}, {{1, 2}}}),
            (Rates{8, 2, 2}));
}

// As above, but x may not pass 3: nobody else can use what it leaves of a.
TEST(MaxMin, KeepsAFlowToItsOwnLimit) {
  EXPECT_EQ(plain::max_min_rates(Rates{10, 4, 100},
                                 std::vector<SharedFlow>{{{0, 2}, 3}, {{0, 1}}, {{1, 2}}}),
            (Rates{3, 2, 2}));
}

// A link without capacity stops its flows and no others.
TEST(MaxMin, CarriesNothingOverADeadLink) {
  EXPECT_EQ(
      plain::max_min_rates(Rates{0, 6, 100}, std::vector<SharedFlow>{{{0, 1}}, {{1, 2}}, {{1, 2}}}),
      (Rates{0, 3, 3}));
}

struct System {
  Rates capacities{};
  std::vector<SharedFlow> flows{};
};

System random_system(Random& random) {
  System system;
  const auto nodes = static_cast<std::uint32_t>(2 + random.below(8));
  for (std::uint32_t i = 0; i < 2 * nodes; ++i)
    system.capacities.push_back(1 + random.uniform() * 9);
  const std::uint64_t flows = random.below(40);
  for (std::uint64_t f = 0; f < flows; ++f) {
    SharedFlow flow{{static_cast<std::uint32_t>(random.below(nodes)),
                     static_cast<std::uint32_t>(nodes + random.below(nodes))}};
    if (random.below(3) == 0) flow.limit = 0.1 + random.uniform() * 3;
    system.flows.push_back(flow);
  }
  return system;
}

// No link over its capacity, and every flow at its limit or on a full link where none is faster.
TEST(MaxMin, EveryFlowHasABottleneck) {
  Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const System system = random_system(random);
    const Rates rates = plain::max_min_rates(system.capacities, system.flows);
    Rates load(system.capacities.size(), 0), fastest(system.capacities.size(), 0);
    for (std::size_t f = 0; f < rates.size(); ++f)
      for (const std::uint32_t link : system.flows[f].links) {
        load[link] += rates[f];
        fastest[link] = std::max(fastest[link], rates[f]);
      }
    for (std::size_t link = 0; link < load.size(); ++link)
      EXPECT_LE(load[link], system.capacities[link] * (1 + 1e-12));
    for (std::size_t f = 0; f < rates.size(); ++f) {
      bool held = rates[f] == system.flows[f].limit;
      for (const std::uint32_t link : system.flows[f].links)
        held |= load[link] >= system.capacities[link] * (1 - 1e-12) &&
                rates[f] >= fastest[link] * (1 - 1e-12);
      EXPECT_TRUE(held) << "trial " << trial << ", flow " << f;
    }
  }
}

TEST(MaxMin, TheLevelOfOneLinkIsWhatThePlainSolverGivesIt) {
  EXPECT_EQ(fair_level(10, Rates{}), kUnlimited);
  EXPECT_EQ(fair_level(10, Rates{2, 3}), kUnlimited);
  EXPECT_EQ(fair_level(10, Rates{kUnlimited, 2}), 8);
  EXPECT_EQ(fair_level(0, Rates{1, 1}), 0);
  EXPECT_EQ(fair_level(kUnlimited, Rates{1, kUnlimited}), kUnlimited);
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    Rates limits;
    std::vector<SharedFlow> flows;
    const std::uint64_t count = 1 + random.below(70);
    for (std::uint64_t f = 0; f < count; ++f) {
      limits.push_back(random.below(4) == 0 ? kUnlimited : random.uniform());
      flows.push_back({{0, 1}, limits.back()});
    }
    const double capacity = random.uniform() * 20;
    const Rates rates = plain::max_min_rates(Rates{capacity, kUnlimited}, flows);
    const double level = fair_level(capacity, limits);
    for (std::size_t f = 0; f < rates.size(); ++f)
      EXPECT_NEAR(std::min(level, limits[f]), rates[f], 1e-12);
  }
}

}  // namespace
}  // namespace tessera
