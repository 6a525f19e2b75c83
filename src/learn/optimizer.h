// The optimizers' steps, as torch.optim states them; g is the gradient, t counts steps from 1.
//
//   sgd     d = g + weight_decay w       v = momentum v + d
//           w = w - lr v                 with nesterov: w = w - lr (d + momentum v)
//   adam    d = g + weight_decay w       m = beta1 m + (1 - beta1) d
//                                        s = beta2 s + (1 - beta2) d^2
//           w = w - lr / (1 - beta1^t) m / (sqrt(s) / sqrt(1 - beta2^t) + epsilon)
//   adamw   the same with d = g, from w = (1 - lr weight_decay) w
//
// With clip, g is first multiplied by min(1, clip / (norm of g + 1e-6)), over all parameters.
#pragma once

#include <cstdint>
#include <span>

#include "base/archive.h"
#include "base/ids.h"
#include "learn/step_rates.h"
#include "learn/training.h"

namespace tessera {

// What an optimizer keeps beside some parameters; empty where it keeps nothing.
struct Moments {
  std::span<float> first{}, second{};  // v, or m and s.
};

// What it keeps of one node, from step to step and from round to round, whatever was averaged in
// between.
struct OptimizerState {
  std::uint64_t steps = 0;
  Vector first{}, second{};

  void fit(const TrainingOptions& training, std::size_t parameters);
  Moments moments(std::size_t begin, std::size_t count);
  void fields(NodeId node, const TrainingOptions& training, Archive& archive);
};

// One step of one node. The parameters may come in parts, each once.
class OptimizerStep {
 public:
  // After `steps` others; gradients count `scale` times.
  OptimizerStep(const TrainingOptions& training, std::uint64_t steps, float scale = 1);
  void apply(std::span<float> parameters, std::span<const float> gradient,
             const Moments& moments) const;

 private:
  void descend(std::span<float> parameters, std::span<const float> gradient,
               std::span<float> velocity) const;
  void adapt(std::span<float> parameters, std::span<const float> gradient,
             const Moments& moments) const;

  const TrainingOptions& training_;
  StepRates rates_;
  float scale_;
};

// By which a gradient is multiplied to have no more than this norm.
float clip_scale(float clip, std::span<const float> gradient);

}  // namespace tessera
