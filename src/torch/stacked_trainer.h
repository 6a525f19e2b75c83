// Training and evaluating many nodes at once: their vectors are the rows of one matrix on the
// device and the layers run for all rows together. A cohort larger than what fits goes through in
// chunks, two of them in flight: while one computes, the other's rows travel.
//
// Which samples a node draws is what the CPU trainer draws too; results agree up to rounding.
#pragma once

#include <memory>

#include "learn/stacked_parts.h"
#include "node/trainer.h"

namespace tessera {

std::unique_ptr<Trainer> make_stacked_trainer(StackedTrainerParts parts);
std::unique_ptr<Evaluator> make_stacked_evaluator(StackedEvaluatorParts parts);

}  // namespace tessera
