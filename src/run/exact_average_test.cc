// Nodes that learn something once and then only average: on graphs that promise it, all have the
// mean after one cycle, in whatever order messages arrive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "run/simulated_run.h"

namespace tessera {
namespace {

// The first training sets a node's model to numbers of its own; later ones change nothing.
class LearnsOnce final : public Trainer {
 public:
  std::size_t dimension() const override { return 5; }
  Vector initial_model() const override { return Vector(5, 0.0f); }
  void train(std::span<TrainJob> cohort) override {
    for (TrainJob& job : cohort) {
      if (!learnt_.insert(job.node).second) continue;
      for (std::size_t i = 0; i < job.model.size(); ++i) job.model[i] = value(job.node, i);
    }
  }
  static float value(NodeId node, std::size_t i) {
    return static_cast<float>(Random(7).fork("node", node).fork("place", i).normal());
  }
  static Vector mean(std::uint32_t nodes) {
    Vector mean(5);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = 0;
      for (NodeId node = 0; node < nodes; ++node) sum += double{value(node, i)};
      mean[i] = static_cast<float>(sum / nodes);
    }
    return mean;
  }

 private:
  std::set<NodeId> learnt_{};
};

class NoScore final : public Evaluator {
 public:
  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>>) override {
    return std::vector<Score>(nodes.size());
  }
};

double farthest_from_mean(const SimulatedRun& run) {
  const Vector mean = LearnsOnce::mean(run.plan().nodes);
  double farthest = 0;
  for (NodeId node = 0; node < run.plan().nodes; ++node)
    for (std::size_t i = 0; i < mean.size(); ++i)
      farthest = std::max(
          farthest, std::abs(double{run.simulation().node(node).model()[i]} - double{mean[i]}));
  return farthest;
}

struct Case {
  const char* topology;
  const char* nodes;
  int rounds;
};

TEST(ExactAverage, AfterOneCycleAllHaveTheMean) {
  for (const Case& one :
       {Case{"base:peers=1", "6", 4}, Case{"base:peers=1", "7", 5}, Case{"base:peers=2", "11", 5},
        Case{"base:peers=1", "96", 8}, Case{"one-peer-exponential", "8", 3},
        Case{"hypercube:peers=one", "16", 4}, Case{"full", "6", 1}})
    for (const char* network :
         {"ideal", "links:up=2kB/s,down=2kB/s,latency=20ms,stragglers=2,slowdown=7"}) {
      SCOPED_TRACE(fmt::format("{} of {} nodes, {}", one.topology, one.nodes, network));
      SimulatedRun run(read_plan({.nodes = one.nodes,
                                  .topology = one.topology,
                                  .protocol = fmt::format("dpsgd:rounds={}", one.rounds),
                                  .codec = "raw32+f32",
                                  .network = network}),
                       Learning{.trainer = std::make_unique<LearnsOnce>(),
                                .evaluator = std::make_unique<NoScore>()},
                       2);
      const Summary summary = run.to_end();
      EXPECT_LT(farthest_from_mean(run), 1e-6);
      ASSERT_TRUE(summary.last.merged.has_value());
      EXPECT_LT(summary.last.merged->distance, 1e-6);
    }
}

// A round short of the cycle it is not there yet.
TEST(ExactAverage, NotBeforeTheCycleIsOver) {
  SimulatedRun run(
      read_plan({.nodes = "96", .topology = "base:peers=1", .protocol = "dpsgd:rounds=7"}),
      Learning{.trainer = std::make_unique<LearnsOnce>(), .evaluator = std::make_unique<NoScore>()},
      1);
  (void)run.to_end();
  EXPECT_GT(farthest_from_mean(run), 0.01);
}

}  // namespace
}  // namespace tessera
