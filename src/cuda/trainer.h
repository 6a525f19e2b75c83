// Training and evaluating many nodes at once on our own kernels. A cohort goes through in chunks,
// up to four of them in flight, the earlier before the later: while some compute, the rows of
// others travel, and whoever began the cohort goes on with those that are back.
//
// Which samples a node draws is what the CPU trainer draws too; results agree up to rounding.
#pragma once

#include <cstdint>
#include <memory>

#include "learn/stacked_parts.h"
#include "node/trainer.h"

namespace tessera::cuda {

std::unique_ptr<Trainer> make_trainer(StackedTrainerParts parts);
std::unique_ptr<Evaluator> make_evaluator(StackedEvaluatorParts parts);

// The bytes of the GPU's memory that may be used.
std::uint64_t memory_for(const DeviceOptions& device);

}  // namespace tessera::cuda
