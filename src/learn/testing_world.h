// What the tests of trainers and evaluators share, here and in torch/: five nodes with made-up
// data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/learning.h"
#include "learn/testing.h"

namespace tessera::testing {

constexpr std::uint32_t kNodes = 5;
constexpr std::size_t kTests = 530;  // More than one block of an evaluation.

struct LearningWorld {
  LoadedData data{};
  Partition partition{};
  std::vector<Vector> models{};
  std::span<const Backend> backends{};

  // Node i has 9 + i samples, so that batches of 4 end short in different places.
  explicit LearningWorld(const Task& task) {
    data.name = "made-up";
    data.task = task;
    data.train = std::make_shared<MadeUpData>(task, 80, Random(1));
    data.test = std::make_shared<MadeUpData>(task, kTests, Random(2));
    std::uint32_t next = 0;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      Indices& own = partition.train.emplace_back();
      while (own.size() < 9 + node) own.push_back(next++);
    }
  }

  Learning learning(std::string_view model, std::string_view training, std::string_view device,
                    unsigned threads = 1, std::size_t test_samples = 0) const {
    return make_learning(data, partition,
                         {.model = parse_spec(model),
                          .training = parse_training(training),
                          .device = parse_device(device),
                          .threads = threads,
                          .seed = 7,
                          .test_samples = test_samples,
                          .backends = backends});
  }

  // Trains every node for some rounds and keeps the models; returns the last round's losses.
  std::vector<float> run(Trainer& trainer, std::uint64_t rounds) {
    models.assign(kNodes, trainer.initial_model());
    std::vector<float> losses;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::vector<TrainJob> cohort;
      for (NodeId node = 0; node < kNodes; ++node)
        cohort.push_back({node, models[node], Random(4).fork("node", node).fork("round", round)});
      trainer.train(cohort);
      losses.clear();
      for (const TrainJob& job : cohort) losses.push_back(job.loss);
    }
    return losses;
  }

  std::vector<Score> scores(Evaluator& evaluator) const {
    std::vector<NodeId> nodes;
    std::vector<std::span<const float>> views;
    for (NodeId node = 0; node < kNodes; ++node) nodes.push_back(node);
    for (const Vector& model : models) views.emplace_back(model);
    return evaluator.evaluate(nodes, views);
  }
};

inline double largest_gap(const LearningWorld& a, const LearningWorld& b) {
  double gap = 0;
  for (std::size_t i = 0; i < a.models.size(); ++i)
    gap = std::max(gap, relative_gap(a.models[i], b.models[i]));
  return gap;
}

// A model that has diverged is a result: NaN, nothing right, and its neighbours untouched.
inline void expect_divergence_is_scored(LearningWorld& world, std::string_view spec,
                                        const char* device) {
  SCOPED_TRACE(std::string(spec) + " on " + device);
  const Learning learning = world.learning(spec, "sgd", device, 2, 64);
  world.run(*learning.trainer, 1);
  const std::vector<Score> healthy = world.scores(*learning.evaluator);
  std::fill(world.models[1].begin(), world.models[1].end(),
            std::numeric_limits<float>::quiet_NaN());
  const std::vector<Score> scores = world.scores(*learning.evaluator);
  EXPECT_TRUE(std::isnan(scores[1].loss));
  EXPECT_EQ(scores[1].accuracy, 0);
  EXPECT_EQ(scores[0].loss, healthy[0].loss);
  TrainJob job{1, world.models[1], Random(1)};
  learning.trainer->train({&job, 1});
  EXPECT_TRUE(std::isnan(job.loss));
}

// In a world of seven users' ratings of nine films every node is tested on a list of its own.
inline void expect_own_samples_are_tested(LearningWorld& world, const char* device) {
  for (std::uint32_t node = 0; node < kNodes; ++node)
    world.partition.test.push_back({node * 3, node * 3 + 1, node * 100 + 7});
  world.partition.test[4].resize(1);
  const Learning learning = world.learning("matrix-factorization:factors=6", "sgd", device);
  world.run(*learning.trainer, 1);
  const std::vector<Score> scores = world.scores(*learning.evaluator);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    double squares = 0, right = 0;
    for (const std::uint32_t sample : world.partition.test[node]) {
      float pair[2];
      const float target = world.data.test->get(sample, pair);
      double predicted = 0;
      for (std::size_t i = 0; i < 6; ++i)
        predicted += double{world.models[node][static_cast<std::size_t>(pair[0]) * 6 + i]} *
                     double{world.models[node][(7 + static_cast<std::size_t>(pair[1])) * 6 + i]};
      squares += (predicted - double{target}) * (predicted - double{target});
      right += std::abs(std::clamp(predicted, 0.5, 5.0) - double{target}) <= 0.5;
    }
    const auto count = static_cast<double>(world.partition.test[node].size());
    EXPECT_NEAR(scores[node].loss, std::sqrt(squares / count), 1e-5);
    EXPECT_DOUBLE_EQ(scores[node].accuracy, right / count);
  }
}

}  // namespace tessera::testing
