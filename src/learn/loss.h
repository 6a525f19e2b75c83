// What training makes small.
#pragma once

#include <span>

#include "data/dataset.h"

namespace tessera {

// Mean cross-entropy of logits by rows, or mean squared error where task.classes is 0. Both write
// the gradient over the outputs.
float loss_and_gradient(const Task& task, std::span<float> outputs, std::span<const float> targets);

}  // namespace tessera
