// The engine that shares links, beside the plain solver of math/max_min.h and the promises of its
// header.
#include "sim/links_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Two flows of 1,000 and 3,000 bytes over one link of 1,000 bytes per second: 500 each until the
// first is done at 2 s; the second has 2,000 bytes left and the link to itself: 4 s.
TEST(LinkShare, GivesWhatAFinishedFlowLeaves) {
  LinkShare share({1000, 1e6, 1e6}, 1e-9);
  const auto small = share.add(Instant{}, {{0, 1}}, 1000);
  const auto large = share.add(Instant{}, {{0, 2}}, 3000);
  share.solve(Instant{});
  EXPECT_EQ(share.rate(small), 500);
  EXPECT_EQ(share.next(), Instant(2s));
  std::vector<LinkShare::Slot> done;
  share.take_done(share.next(), done);
  ASSERT_EQ(done, std::vector{small});
  share.remove(small);
  share.solve(Instant(2s));
  EXPECT_EQ(share.rate(large), 1000);
  EXPECT_EQ(share.next(), Instant(4s));
}

// A link that loses its capacity keeps its flows where they are, and they go on when it is back.
TEST(LinkShare, StopsAndGoesOnWithTheCapacity) {
  LinkShare share({1000, 1e6}, 1e-9);
  const auto flow = share.add(Instant{}, {{0, 1}}, 1000);
  share.solve(Instant{});
  share.set_capacity(0, 0);
  share.solve(Instant(400ms));
  EXPECT_EQ(share.next(), kNever);
  EXPECT_DOUBLE_EQ(share.bytes_left(flow, Instant(5s)), 600);
  share.set_capacity(0, 2000);
  share.solve(Instant(5s));
  EXPECT_EQ(share.next(), Instant(5300ms));
}

struct World {
  std::uint32_t nodes = 0;
  std::vector<double> capacities{};
  std::map<LinkShare::Slot, SharedFlow> flows{};
};

World random_world(Random& random) {
  World world;
  world.nodes = static_cast<std::uint32_t>(2 + random.below(12));
  for (std::uint32_t i = 0; i < 2 * world.nodes; ++i)
    world.capacities.push_back(random.below(3) == 0 ? 100 : 20 + 100 * random.uniform());
  return world;
}

// A few flows come, a few go, a capacity changes.
void change(World& world, LinkShare& share, Instant now, Random& random) {
  for (std::uint64_t left = random.below(6); left > 0; --left) {
    SharedFlow flow{{static_cast<std::uint32_t>(random.below(world.nodes)),
                     static_cast<std::uint32_t>(world.nodes + random.below(world.nodes))}};
    if (random.below(4) == 0) flow.limit = 1 + 30 * random.uniform();
    world.flows[share.add(now, flow, 1e9)] = flow;
  }
  for (std::uint64_t left = random.below(4); left > 0 && !world.flows.empty(); --left) {
    auto victim = world.flows.begin();
    std::advance(victim, random.below(world.flows.size()));
    share.remove(victim->first);
    world.flows.erase(victim);
  }
  if (random.below(5) == 0) {
    const auto link = static_cast<std::uint32_t>(random.below(2 * world.nodes));
    world.capacities[link] = random.below(4) == 0 ? 0 : 20 + 100 * random.uniform();
    share.set_capacity(link, world.capacities[link]);
  }
}

// What links_share.h promises, from the rates alone.
void expect_fair(const World& world, const LinkShare& share, double tolerance) {
  std::vector<double> load(world.capacities.size(), 0), fastest(world.capacities.size(), 0);
  for (const auto& [slot, flow] : world.flows)
    for (const std::uint32_t link : flow.links) {
      load[link] += share.rate(slot);
      fastest[link] = std::max(fastest[link], share.rate(slot));
    }
  for (std::size_t link = 0; link < load.size(); ++link)
    ASSERT_LE(load[link], world.capacities[link] * (1 + tolerance) * (1 + 1e-9));
  for (const auto& [slot, flow] : world.flows) {
    bool held = share.rate(slot) == flow.limit;
    for (const std::uint32_t link : flow.links)
      held |= load[link] >= world.capacities[link] * (1 - tolerance) * (1 - 1e-9) &&
              share.rate(slot) == fastest[link];
    ASSERT_TRUE(held);
  }
}

class Tolerance : public testing::TestWithParam<double> {};

TEST_P(Tolerance, EveryFlowHasABottleneckWhateverComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    World world = random_world(random);
    LinkShare share(world.capacities, GetParam());
    for (int instant = 0; instant < 60; ++instant) {
      const Instant now{Duration(instant)};
      change(world, share, now, random);
      share.solve(now);
      ASSERT_NO_FATAL_FAILURE(expect_fair(world, share, GetParam())) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LinkShare, Tolerance, testing::Values(1e-9, 1e-3, 1e-2, 0.1));

TEST(LinkShare, EqualsThePlainSolver) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    World world = random_world(random);
    LinkShare share(world.capacities, 1e-9);
    for (int instant = 0; instant < 40; ++instant) {
      const Instant now{Duration(instant)};
      change(world, share, now, random);
      share.solve(now);
      std::vector<SharedFlow> flows;
      for (const auto& entry : world.flows) flows.push_back(entry.second);
      const std::vector<double> rates = plain::max_min_rates(world.capacities, flows);
      std::size_t i = 0;
      for (const auto& entry : world.flows)
        ASSERT_NEAR(share.rate(entry.first), rates[i++], 1e-5) << "seed " << seed;
    }
  }
}

// One flow more or less among thousands concerns few links. 200 nodes with 30 flows each, tolerance
// 1%: the end of a flow moves two levels by a thirtieth and the others by a thousandth.
TEST(LinkShare, ASmallChangeCostsLittle) {
  constexpr std::uint32_t kNodes = 200;
  Random random(3);
  LinkShare share(std::vector<double>(2 * kNodes, 1e6), 0.01);
  std::vector<LinkShare::Slot> flows;
  for (std::uint32_t node = 0; node < kNodes; ++node)
    for (const std::uint32_t to : random.sample(kNodes, 30))
      flows.push_back(share.add(Instant{}, {{node, kNodes + to}}, 1e9));
  share.solve(Instant{});
  const std::uint64_t before = share.levels_set();
  for (int i = 0; i < 100; ++i) {
    share.remove(flows[static_cast<std::size_t>(i) * 60]);
    share.solve(Instant(Duration(i)));
  }
  EXPECT_LT(share.levels_set() - before, 100 * 10);
}

}  // namespace
}  // namespace tessera
