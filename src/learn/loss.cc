#include "learn/loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace tessera {
namespace {

float cross_entropy(std::size_t classes, std::span<float> outputs, std::span<const float> targets) {
  const auto batch = static_cast<float>(targets.size());
  double loss = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const std::span<float> row = outputs.subspan(n * classes, classes);
    const auto target = static_cast<std::size_t>(targets[n]);
    CHECK(target < classes);
    const float top = *std::max_element(row.begin(), row.end());
    const float of_target = row[target] - top;
    float sum = 0;
    for (float& value : row) sum += value = std::exp(value - top);
    loss += double{std::log(sum)} - double{of_target};
    for (float& value : row) value /= sum * batch;
    row[target] -= 1 / batch;
  }
  return static_cast<float>(loss / static_cast<double>(targets.size()));
}

constexpr std::array kLosses = {
    LossKind{
        .name = "cross-entropy",
        .usage =
            "every model of data with classes or tokens; torchscript:file=…,loss=cross-entropy",
        .summary = "mean over samples of minus the logarithm of the softmax at the target"},
    LossKind{.name = "mse",
             .usage = "every model of ratings; torchscript:file=…,loss=mse",
             .summary = "mean squared error; test losses are its root"},
};

}  // namespace

std::span<const LossKind> losses() {
  return kLosses;
}

float loss_and_gradient(const Task& task, std::span<float> outputs,
                        std::span<const float> targets) {
  if (task.classes > 0) return cross_entropy(task.classes, outputs, targets);
  double loss = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const float error = outputs[n] - targets[n];
    loss += double{error} * double{error};
    outputs[n] = 2 * error / static_cast<float>(targets.size());
  }
  return static_cast<float>(loss / static_cast<double>(targets.size()));
}

}  // namespace tessera
