// What training makes small.
#pragma once

#include <span>
#include <string_view>

#include "data/dataset.h"

namespace tessera {

struct LossKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
};

std::span<const LossKind> losses();

// Mean cross-entropy of logits by rows, or mean squared error where task.classes is 0. Both write
// the gradient over the outputs.
float loss_and_gradient(const Task& task, std::span<float> outputs, std::span<const float> targets);

}  // namespace tessera
