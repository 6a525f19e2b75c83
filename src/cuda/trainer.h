// Training and evaluating many nodes at once on our own kernels. A cohort larger than what fits
// goes through in chunks, two of them in flight: while one computes, the other's rows travel.
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

namespace tessera::cuda {

struct TrainerParts {
  Model model{};
  Vector initial{};
  std::shared_ptr<const Dataset> train{};
  std::vector<Indices> node_samples{};
  SgdOptions sgd{};
  DeviceOptions device{};
};
std::unique_ptr<Trainer> make_trainer(TrainerParts parts);

struct EvaluatorParts {
  Model model{};
  std::shared_ptr<const Dataset> test{};
  std::vector<Indices> node_samples{};  // One list for all nodes, or a list per node.
  DeviceOptions device{};
};
std::unique_ptr<Evaluator> make_evaluator(EvaluatorParts parts);

// The bytes of the GPU's memory that may be used.
std::uint64_t memory_for(const DeviceOptions& device);

}  // namespace tessera::cuda
