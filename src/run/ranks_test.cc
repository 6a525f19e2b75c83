// One simulation on several ranks is the same as on one, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "run/lesson.h"
#include "run/ranks_matrix.h"
#include "sim/early_for_tests.h"
#include "sim/thread_ranks.h"

namespace tessera {
namespace {

std::string story_alone(const Plan& plan) {
  SimulatedRun run(plan, 1);
  return story_of(run);
}

std::uint64_t digest_at_the_end(Simulation& simulation) {
  simulation.start();
  while (simulation.step()) {
  }
  return simulation.model_digest();
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

// A rank's trainer hears of the rank's own nodes alone.
TEST(Ranks, TrainingsBeginEarlyOnEach) {
  const Plan plan = read_plan({.nodes = "12",
                               .model = "quadratic:dimension=20",
                               .topology = "regular:degree=4",
                               .protocol = "dpsgd:rounds=5"});
  const Learning learning = make_lesson(plan, 1);
  const auto alone = make_simulation(plan, *learning.trainer, 1);
  const std::uint64_t digest = digest_at_the_end(*alone);
  ThreadRanks(3).run([&](Ranks& ranks) {
    const Learning own = make_lesson(plan, 1);
    Early early(*own.trainer);
    const auto simulation = make_simulation(plan, early, 2, &ranks);
    EXPECT_EQ(digest_at_the_end(*simulation), digest);
    EXPECT_EQ(early.widest, 4u);
    EXPECT_EQ(early.joined, 4u * 5);
  });
}

// Notes how much a rank packed at once.
class WatchedRanks final : public Ranks {
 public:
  explicit WatchedRanks(Ranks& ranks) : ranks_(ranks) {}
  std::uint32_t count() const override { return ranks_.count(); }
  std::uint32_t mine() const override { return ranks_.mine(); }
  std::vector<Bytes> gather(ByteSpan told) override { return ranks_.gather(told); }
  std::vector<Bytes> exchange(std::vector<Bytes> told) override {
    std::size_t bytes = 0;
    for (const Bytes& one : told) bytes += one.size();
    packed_max_ = std::max(packed_max_, bytes);
    return ranks_.exchange(std::move(told));
  }
  std::size_t packed_max() const { return packed_max_; }

 private:
  Ranks& ranks_;
  std::size_t packed_max_ = 0;
};

// At one instant 24 nodes of each rank have 1 MB for some node of the other.
TEST(Ranks, MessagesDoNotTravelAllAtOnce) {
  const Plan plan = read_plan({.nodes = "48",
                               .model = "quadratic:dimension=250000,noise=0",
                               .topology = "regular:degree=4",
                               .protocol = "dpsgd:rounds=1",
                               .codec = "raw32+f32",
                               .evaluate = "every=9"});
  const std::string alone = story_alone(plan);
  std::vector<std::size_t> packed(2);
  ThreadRanks(2).run([&](Ranks& ranks) {
    WatchedRanks watched(ranks);
    SimulatedRun run(plan, 1, &watched);
    EXPECT_EQ(story_of(run), alone);
    packed[ranks.mine()] = watched.packed_max();
  });
  for (const std::size_t bytes : packed) {
    EXPECT_GT(bytes, 1u << 20);
    EXPECT_LT(bytes, 18u << 20);
  }
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

// Messages to nodes of several ranks among them, which are written once.
TEST(Ranks, ACheckpointIsTheFileThatOneProcessWrites) {
  for (const NamedExperiment& one : ranks_matrix()) {
    const Plan plan = read_plan(one.experiment);
    SimulatedRun alone(plan, 1);
    const Bytes expected = saved_after(alone, 25);
    ThreadRanks(3).run([&](Ranks& ranks) {
      SimulatedRun run(plan, 1, &ranks);
      const Bytes state = saved_after(run, 25);
      if (ranks.mine() != 0) return;
      EXPECT_TRUE(state == expected)
          << one.name << ": " << state.size() << " bytes, not " << expected.size();
    });
  }
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
