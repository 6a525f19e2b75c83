// What the tests of trainers and evaluators share, here and in torch/: five nodes with made-up
// data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
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

}  // namespace tessera::testing
