// Thousands of random worlds with faults, near half of them with hostile nodes; see swarm.h.
// scripts/swarm.sh runs as many as one likes.
#include "run/swarm.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Sanitized builds look for other faults than these, and take several times as long.
#if TESSERA_SANITIZED
constexpr std::uint64_t kWorlds = 150;
#else
constexpr std::uint64_t kWorlds = 2500;
#endif
constexpr std::uint64_t kBlocks = 2;  // So that two cores have something to do.

class Swarm : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Swarm, EveryWorldHoldsAndGetsOn) {
  std::uint64_t messages = 0, crashes = 0, hostile_worlds = 0, merging_worlds = 0;
  for (std::uint64_t seed = GetParam(); seed < kWorlds; seed += kBlocks) {
    RecordProperty("seed", std::to_string(seed));
    const Result<SwarmStory> story = run_swarm_world(seed);
    ASSERT_TRUE(story.ok()) << story.error().message
                            << "\nrepeat it: tessera replay --swarm=" << seed << "\n"
                            << describe(swarm_world(seed));
    messages += story->messages;
    crashes += story->crashes;
    hostile_worlds += story->hostile > 0;
    merging_worlds += story->merges;
  }
  // The worlds must be worth something.
  EXPECT_GT(messages, kWorlds * 100);
  EXPECT_GT(crashes, kWorlds / 10);
  EXPECT_GT(hostile_worlds, kWorlds / kBlocks / 3);
  EXPECT_GT(merging_worlds, kWorlds / kBlocks / 10);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Swarm, testing::Range(std::uint64_t{0}, kBlocks));

TEST(SwarmWorld, IsTheSameWhateverTheThreads) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto one = run_swarm_world(seed, 1), four = run_swarm_world(seed, 4);
    ASSERT_TRUE(one.ok() && four.ok()) << seed;
    EXPECT_EQ(one->digest, four->digest) << seed;
    EXPECT_EQ(one->events, four->events) << seed;
  }
}

}  // namespace
}  // namespace tessera
