// The numbers of an optimizer's step that change from step to step (optimizer.h has the formulas).
#pragma once

#include <cstdint>

namespace tessera {

struct TrainingOptions;

struct StepRates {
  float lr = 0;
  float adam = 0;  // lr / (1 - beta1^t)
  float root = 1;  // sqrt(1 - beta2^t)
  float kept = 1;  // Of a parameter before AdamW's step.
};

// For a step after `steps` others.
StepRates step_rates(const TrainingOptions& training, std::uint64_t steps);

}  // namespace tessera
