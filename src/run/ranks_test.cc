// One simulation on several ranks is the same as on one, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "run/ranks_matrix.h"
#include "sim/thread_ranks.h"

namespace tessera {
namespace {

std::string story_alone(const Plan& plan) {
  SimulatedRun run(plan, 1);
  return story_of(run);
}

TEST(Ranks, AnyNumberEndsInTheSameBits) {
  for (const auto& [name, experiment] : ranks_matrix()) {
    const Plan plan = read_plan(experiment);
    const std::string alone = story_alone(plan);
    for (const std::uint32_t count : {2u, 3u}) {
      std::vector<std::string> stories(count);
      ThreadRanks(count).run([&](Ranks& ranks) {
        SimulatedRun run(plan, 1, &ranks);
        stories[ranks.mine()] = story_of(run);
      });
      for (const std::string& story : stories) EXPECT_EQ(story, alone) << name << " on " << count;
    }
  }
}

// So that a rank may hold no node at all.
TEST(Ranks, MoreThanNodesDoNoHarm) {
  const Plan plan = read_plan(ranks_matrix().front().experiment);
  const std::string alone = story_alone(plan);
  std::string first;
  ThreadRanks(12).run([&](Ranks& ranks) {
    SimulatedRun run(plan, 1, &ranks);
    const std::string story = story_of(run);
    if (ranks.mine() == 0) first = story;
  });
  EXPECT_EQ(first, alone);
}

Bytes saved_after(SimulatedRun& run, int steps) {
  run.start();
  for (int i = 0; i < steps; ++i) run.step();
  Bytes state;
  run.save(state);
  return state;
}

std::uint64_t digest_after(SimulatedRun& run, const Bytes& state) {
  ByteReader in(state);
  EXPECT_TRUE(run.load(in).ok());
  while (run.step()) continue;
  run.finish();
  return run.simulation().model_digest();
}

TEST(Ranks, ACheckpointIsResumedByAnotherNumberOfThem) {
  for (const NamedExperiment& one : ranks_matrix()) {
    const Plan plan = read_plan(one.experiment);
    SimulatedRun whole(plan, 1);
    const std::uint64_t digest = whole.to_end().model_digest;
    Bytes state;
    ThreadRanks(3).run([&](Ranks& ranks) {
      SimulatedRun run(plan, 1, &ranks);
      const Bytes own = saved_after(run, 25);
      if (ranks.mine() == 0) state = own;
      // Saving takes nothing away from the run that is saved.
      while (run.step()) continue;
      run.finish();
      EXPECT_EQ(run.simulation().model_digest(), digest) << one.name;
    });
    for (const std::uint32_t count : {1u, 2u, 4u})
      ThreadRanks(count).run([&](Ranks& ranks) {
        SimulatedRun run(plan, 1, &ranks);
        EXPECT_EQ(digest_after(run, state), digest) << one.name << " on " << count;
      });
  }
}

TEST(Ranks, AStateThatOneOfThemCannotReadIsRefusedByAll) {
  const Plan plan = read_plan(ranks_matrix().front().experiment);
  SimulatedRun alone(plan, 1);
  Bytes state = saved_after(alone, 10);
  state.resize(state.size() / 2);
  ThreadRanks(3).run([&](Ranks& ranks) {
    SimulatedRun run(plan, 1, &ranks);
    ByteReader in(state);
    EXPECT_FALSE(run.load(in).ok());
  });
}

}  // namespace
}  // namespace tessera
