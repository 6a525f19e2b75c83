// Training and evaluating many nodes at once: their vectors are the rows of one matrix on the
// device and the layers run for all rows together. A cohort larger than what fits goes through in
// chunks, two of them in flight: while one computes, the other's rows travel.
//
// Which samples a node draws is what the CPU trainer draws too; results agree up to rounding.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"
#include "learn/device.h"
#include "learn/model.h"
#include "learn/sgd.h"
#include "node/trainer.h"

namespace tessera {

struct StackedTrainerParts {
  Model model{};
  Vector initial{};
  std::shared_ptr<const Dataset> train{};
  std::vector<Indices> node_samples{};
  SgdOptions sgd{};
  DeviceOptions device{};
};

std::unique_ptr<Trainer> make_stacked_trainer(StackedTrainerParts parts);

struct StackedEvaluatorParts {
  Model model{};
  std::shared_ptr<const Dataset> test{};
  std::vector<Indices> node_samples{};  // One list for all nodes, or a list per node.
  DeviceOptions device{};
};

std::unique_ptr<Evaluator> make_stacked_evaluator(StackedEvaluatorParts parts);

}  // namespace tessera
