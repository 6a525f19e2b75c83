#include "cuda/optimizer_rows.h"

#include <algorithm>
#include <utility>

namespace tessera::cuda {
namespace {

float rounded(double x) {
  return static_cast<float>(x);
}

std::size_t row_at(const RowPlace& place, std::size_t moment) {
  return ((moment + 1) * place.count + place.at) * place.dimension;
}

}  // namespace

OptimizerRows::OptimizerRows(const TrainingOptions& training,
                             std::shared_ptr<std::vector<OptimizerState>> states, std::size_t nodes)
    : training_(training), states_(std::move(states)) {
  states_->resize(nodes);
}

void OptimizerRows::fields(Archive& archive) {
  for (NodeId id = 0; id < states_->size(); ++id) (*states_)[id].fields(id, training_, archive);
}

void OptimizerRows::put(const RowPlace& place, float* rows, StepRates* rates) {
  OptimizerState& state = (*states_)[place.node];
  state.fit(training_, place.dimension);
  std::copy(state.first.begin(), state.first.end(), rows + row_at(place, 0));
  std::copy(state.second.begin(), state.second.end(), rows + row_at(place, 1));
  for (std::size_t step = 0; step < training_.steps; ++step)
    rates[step * place.count + place.at] = step_rates(training_, state.steps++);
}

void OptimizerRows::take(const RowPlace& place, const float* rows) {
  OptimizerState& state = (*states_)[place.node];
  std::copy_n(rows + row_at(place, 0), state.first.size(), state.first.begin());
  std::copy_n(rows + row_at(place, 1), state.second.size(), state.second.begin());
}

Descent OptimizerRows::descent() const {
  const AdamOptions& adam = training_.adam;
  const bool decoupled = training_.optimizer == OptimizerName::kAdamW;
  return {.adam = !training_.is_sgd(),
          .nesterov = training_.nesterov,
          .momentum = training_.momentum,
          .weight_decay = decoupled ? 0 : training_.weight_decay,
          .beta1 = rounded(adam.beta1),
          .rest1 = rounded(1 - adam.beta1),
          .beta2 = rounded(adam.beta2),
          .rest2 = rounded(1 - adam.beta2),
          .epsilon = rounded(adam.epsilon),
          .clip = training_.clip};
}

bool OptimizerRows::sparse() const {
  return training_.moments() == 0 && training_.weight_decay == 0 && training_.clip == 0;
}

MomentRows OptimizerRows::moments(float* rows, std::size_t count, std::size_t dimension) const {
  return {.first = training_.moments() > 0 ? rows + count * dimension : nullptr,
          .second = training_.moments() > 1 ? rows + 2 * count * dimension : nullptr};
}

}  // namespace tessera::cuda
