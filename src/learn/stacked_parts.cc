#include "learn/stacked_parts.h"

namespace tessera {

StackedTrainerParts stacked_trainer_parts(const Model& model, const LearningOptions& options,
                                          const Learning& learning) {
  return {.model = model,
          .initial = initial_parameters(model, Random(options.seed).fork("model")),
          .train = learning.data.train,
          .node_samples = learning.partition.train,
          .training = options.training,
          .device = options.device};
}

StackedEvaluatorParts stacked_evaluator_parts(const Model& model, const LearningOptions& options,
                                              const Learning& learning) {
  return {.model = model,
          .test = learning.data.test,
          .node_samples = test_lists(learning, options.test_samples),
          .device = options.device};
}

}  // namespace tessera
