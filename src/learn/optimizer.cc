#include "learn/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "math/vector_ops.h"

namespace tessera {
namespace {

float rounded(double x) {
  return static_cast<float>(x);
}

}  // namespace

void OptimizerState::fit(const TrainingOptions& training, std::size_t parameters) {
  if (training.moments() > 0) first.resize(parameters);
  if (training.moments() > 1) second.resize(parameters);
}

Moments OptimizerState::moments(std::size_t begin, std::size_t count) {
  const auto part = [&](Vector& all) {
    return all.empty() ? std::span<float>() : std::span(all).subspan(begin, count);
  };
  return {part(first), part(second)};
}

void OptimizerState::fields(NodeId node, const TrainingOptions& training, Archive& archive) {
  if (training.counts_steps()) archive.of_node(node, steps);
  if (training.moments() > 0) archive.of_node(node, first);
  if (training.moments() > 1) archive.of_node(node, second);
}

StepRates step_rates(const TrainingOptions& training, std::uint64_t steps) {
  StepRates rates{.lr = training.schedule.rate(training.lr, steps)};
  if (training.is_sgd()) return rates;
  const auto t = static_cast<double>(steps + 1);
  rates.adam = rounded(double{rates.lr} / (1 - std::pow(training.adam.beta1, t)));
  rates.root = rounded(std::sqrt(1 - std::pow(training.adam.beta2, t)));
  if (training.optimizer == OptimizerName::kAdamW)
    rates.kept = rounded(1 - double{rates.lr} * double{training.weight_decay});
  return rates;
}

OptimizerStep::OptimizerStep(const TrainingOptions& training, std::uint64_t steps, float scale)
    : training_(training), rates_(step_rates(training, steps)), scale_(scale) {}

void OptimizerStep::apply(std::span<float> parameters, std::span<const float> gradient,
                          const Moments& moments) const {
  CHECK(parameters.size() == gradient.size());
  if (!training_.is_sgd()) return adapt(parameters, gradient, moments);
  const bool plain = training_.momentum == 0 && training_.weight_decay == 0 && scale_ == 1;
  if (plain) return add_scaled(parameters, -rates_.lr, gradient);
  descend(parameters, gradient, moments.first);
}

void OptimizerStep::descend(std::span<float> parameters, std::span<const float> gradient,
                            std::span<float> velocity) const {
  const float momentum = training_.momentum;
  if (momentum != 0) CHECK(velocity.size() == parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    float d = scale_ * gradient[i] + training_.weight_decay * parameters[i];
    if (momentum != 0) {
      velocity[i] = momentum * velocity[i] + d;
      d = training_.nesterov ? d + momentum * velocity[i] : velocity[i];
    }
    parameters[i] -= rates_.lr * d;
  }
}

void OptimizerStep::adapt(std::span<float> parameters, std::span<const float> gradient,
                          const Moments& moments) const {
  const auto [first, second] = moments;
  CHECK(first.size() == parameters.size());
  CHECK(second.size() == parameters.size());
  const AdamOptions& adam = training_.adam;
  const bool decoupled = training_.optimizer == OptimizerName::kAdamW;
  const float kept = rates_.kept, added = decoupled ? 0 : training_.weight_decay;
  const float beta1 = rounded(adam.beta1), rest1 = rounded(1 - adam.beta1);
  const float beta2 = rounded(adam.beta2), rest2 = rounded(1 - adam.beta2);
  const float rate = rates_.adam, root = rates_.root, scale = scale_;
  const float epsilon = rounded(adam.epsilon);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float d = scale * gradient[i] + added * parameters[i];
    first[i] = beta1 * first[i] + rest1 * d;
    second[i] = beta2 * second[i] + rest2 * (d * d);
    parameters[i] =
        kept * parameters[i] - rate * (first[i] / (std::sqrt(second[i]) / root + epsilon));
  }
}

float clip_scale(float clip, std::span<const float> gradient) {
  constexpr double kNoDivisionByZero = 1e-6;  // As torch.nn.utils.clip_grad_norm_ has it.
  const double norm = std::sqrt(squared_norm(gradient));
  const double scale = double{clip} / (norm + kNoDivisionByZero);
  return rounded(std::min(1.0, scale));
}

}  // namespace tessera
