// What a trainer and an evaluator of many nodes at once are made of, on whatever device: LibTorch's
// (torch/) and our own kernels (cuda/) take the same.
#pragma once

#include <memory>
#include <vector>

#include "learn/learning.h"
#include "learn/model.h"

namespace tessera {

struct StackedTrainerParts {
  Model model{};
  Vector initial{};
  std::shared_ptr<const Dataset> train{};
  std::vector<Indices> node_samples{};
  TrainingOptions training{};
  DeviceOptions device{};
};
StackedTrainerParts stacked_trainer_parts(const Model& model, const LearningOptions& options,
                                          const Learning& learning);

struct StackedEvaluatorParts {
  Model model{};
  std::shared_ptr<const Dataset> test{};
  std::vector<Indices> node_samples{};  // One list for all nodes, or a list per node.
  DeviceOptions device{};
};
StackedEvaluatorParts stacked_evaluator_parts(const Model& model, const LearningOptions& options,
                                              const Learning& learning);

}  // namespace tessera
