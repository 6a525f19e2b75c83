// Training and evaluating many nodes at once on our own kernels. A cohort larger than what fits
// goes through in chunks, two of them in flight: while one computes, the other's rows travel.
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
