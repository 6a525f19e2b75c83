#include "learn/lstm_level.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "learn/lstm_kernels.h"

namespace tessera {
namespace {

constexpr std::array<float, kPanel> kZeros{};

// PyTorch's [gates][inputs] against panels [gates / 32][inputs][32].
template <typename Move>
void for_weights(std::size_t gates, std::size_t inputs, Move move) {
  for (std::size_t gate = 0; gate < gates; ++gate)
    for (std::size_t input = 0; input < inputs; ++input)
      move(gate * inputs + input, ((gate / kPanel) * inputs + input) * kPanel + gate % kPanel);
}

}  // namespace

LstmLevel::LstmLevel(const Model& model, const Layer& layer, std::size_t level,
                     std::size_t batch_max)
    : inputs_(level == 0 ? std::get<Lstm>(layer.kind).inputs : std::get<Lstm>(layer.kind).units),
      units_(std::get<Lstm>(layer.kind).units),
      steps_(layer.in[0]),
      batch_(batch_max) {
  CHECK(units_ % kPanel == 0);
  const std::size_t first = layer.first_parameter + 4 * level;
  at_.from_input = model.parameters[first].offset;
  at_.from_state = model.parameters[first + 1].offset;
  at_.input_bias = model.parameters[first + 2].offset;
  at_.state_bias = model.parameters[first + 3].offset;
  gates_.resize(place(panels(), 0));
  for (Floats64* each : {&c_, &tanh_c_, &states_}) each->resize(place(panels() / 4, 0));
  d_states_.resize(units_ * steps_ * batch_max);
  d_h_panel_.resize(kPanel * batch_max);
  d_c_.resize(units_ * batch_max);
  turned_.resize(4 * units_ * std::max(units_, d_inputs()));
}

void LstmLevel::forward(std::span<const float> parameters, const float* x, std::size_t batch) {
  batch_ = batch;
  // What the inputs contribute to all gates of all steps, on top of both biases.
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    std::array<float, kPanel> bias;
    for (std::size_t column = 0; column < kPanel; ++column)
      bias[column] = parameters[at_.input_bias + panel * kPanel + column] +
                     parameters[at_.state_bias + panel * kPanel + column];
    multiply({.rows = steps_ * batch,
              .count = inputs_,
              .a = x,
              .a_panel = place(1, 0),
              .b = &parameters[at_.from_input + panel * inputs_ * kPanel],
              .start = bias.data(),
              .out = &gates_[place(panel, 0)],
              .out_row = kPanel});
  }
  for (std::size_t step = 0; step < steps_; ++step)
    for (std::size_t q = 0; q < panels() / 4; ++q) {
      for (std::size_t panel = q; step > 0 && panel < panels(); panel += panels() / 4)
        add_states(parameters, step, panel);
      run_cell(step, q);
    }
}

// What the states of the step before contribute to the gates.
void LstmLevel::add_states(std::span<const float> parameters, std::size_t step, std::size_t panel) {
  float* const gates = &gates_[place(panel, step)];
  multiply({.rows = batch_,
            .count = units_,
            .a = &states_[place(0, step - 1)],
            .a_panel = place(1, 0),
            .b = &parameters[at_.from_state + panel * units_ * kPanel],
            .start = gates,
            .start_row = kPanel,
            .out = gates,
            .out_row = kPanel});
}

void LstmLevel::run_cell(std::size_t step, std::size_t q) {
  const std::size_t quarter = units_ / kPanel;
  lstm_cell(batch_ * kPanel,
            {&gates_[place(q, step)], &gates_[place(quarter + q, step)],
             &gates_[place(2 * quarter + q, step)], &gates_[place(3 * quarter + q, step)]},
            step > 0 ? &c_[place(q, step - 1)] : nullptr, &c_[place(q, step)],
            &tanh_c_[place(q, step)], &states_[place(q, step)]);
}

void LstmLevel::backward(std::span<const float> parameters, std::span<float> gradient,
                         const float* x, float* d_x, const Update& update) {
  turn(&parameters[at_.from_state], units_);
  std::fill(d_c_.begin(), d_c_.end(), 0.0f);
  for (std::size_t step = steps_; step-- > 0;)
    for (std::size_t q = 0; q < panels() / 4; ++q) {
      return_states(step, q);
      run_cell_gradient(step, q);
    }
  if (d_x) {
    turn(&parameters[at_.from_input], inputs_);
    input_gradient(d_x);
  }
  const LstmWeights from_input{x, inputs_, at_.from_input, 0};
  const LstmWeights from_state{states_.data(), units_, at_.from_state, 1};
  for (const LstmWeights& weights : {from_input, from_state})
    weight_gradient(weights, gradient, update);
  bias_gradients(gradient, update);
}

// A few panels of the gates at a time: they stay in the second cache for all of d_x.
void LstmLevel::input_gradient(float* d_x) const {
  constexpr std::size_t kTogether = 4;
  for (std::size_t panel = 0; panel < panels(); panel += kTogether)
    for (std::size_t first = 0; first < d_inputs(); first += kPanel)
      multiply({.rows = steps_ * batch_,
                .count = std::min(kTogether, panels() - panel) * kPanel,
                .a = &gates_[place(panel, 0)],
                .a_panel = place(1, 0),
                .b = &turned_[(first * panels() + panel * kPanel) * kPanel],
                .start = panel > 0 ? d_x + first : kZeros.data(),
                .start_row = panel > 0 ? d_inputs() : 0,
                .out = d_x + first,
                .out_row = d_inputs()});
}

// What came from above and, but for the last step, what the next step's gates hand back.
void LstmLevel::return_states(std::size_t step, std::size_t q) {
  const bool last = step + 1 == steps_;
  multiply({.rows = batch_,
            .count = last ? 0 : 4 * units_,
            .a = last ? nullptr : &gates_[place(0, step + 1)],
            .a_panel = place(1, 0),
            .b = &turned_[q * kPanel * 4 * units_],
            .start = &d_states_[step * batch_ * units_ + q * kPanel],
            .start_row = units_,
            .out = d_h_panel_.data(),
            .out_row = kPanel});
}

void LstmLevel::run_cell_gradient(std::size_t step, std::size_t q) {
  const std::size_t quarter = units_ / kPanel;
  lstm_cell_gradient(batch_ * kPanel,
                     {&gates_[place(q, step)], &gates_[place(quarter + q, step)],
                      &gates_[place(2 * quarter + q, step)], &gates_[place(3 * quarter + q, step)]},
                     step > 0 ? &c_[place(q, step - 1)] : nullptr, &tanh_c_[place(q, step)],
                     d_h_panel_.data(), &d_c_[q * batch_ * kPanel]);
}

void LstmLevel::weight_gradient(const LstmWeights& weights, std::span<float> gradient,
                                const Update& update) const {
  const std::size_t size = weights.inputs * kPanel;
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    // What is used at once is written to one place, which stays in the cache.
    const std::span<float> own =
        gradient.subspan(weights.offset + (update ? 0 : panel * size), size);
    for (std::size_t first = 0; first < weights.inputs; first += kPanel)
      multiply({.rows = std::min(kPanel, weights.inputs - first),
                .count = (steps_ - weights.first_step) * batch_,
                .a = weights.x + place(first / kPanel, 0),
                .a_panel = kPanel * kPanel,
                .a_turned = true,
                .b = &gates_[place(panel, weights.first_step)],
                .start = kZeros.data(),
                .out = &own[first * kPanel],
                .out_row = kPanel});
    if (update) update(weights.offset + panel * size, own);
  }
}

void LstmLevel::bias_gradients(std::span<float> gradient, const Update& update) const {
  const std::span<float> sums = gradient.subspan(at_.input_bias, 4 * units_);
  for (std::size_t panel = 0; panel < panels(); ++panel)
    sum_rows(steps_ * batch_, &gates_[place(panel, 0)], &sums[panel * kPanel]);
  std::ranges::copy(sums, &gradient[at_.state_bias]);
  if (!update) return;
  for (const std::size_t bias : {at_.input_bias, at_.state_bias}) update(bias, sums);
}

void LstmLevel::turn(const float* weights, std::size_t inputs) {
  constexpr std::size_t kSquare = kPanel * kPanel;
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    const float* const from = weights + panel * inputs * kPanel;
    std::size_t first = 0;
    for (; first + kPanel <= inputs; first += kPanel)
      transpose(from + first * kPanel, &turned_[first * 4 * units_ + panel * kSquare]);
    for (std::size_t input = first; input < inputs; ++input)
      for (std::size_t column = 0; column < kPanel; ++column)
        turned_[first * 4 * units_ + panel * kSquare + column * kPanel + input - first] =
            from[input * kPanel + column];
  }
}

void LstmLevel::arrange(std::span<const float> flat, std::span<float> working) const {
  for (const auto& [offset, inputs] :
       {std::pair(at_.from_input, inputs_), {at_.from_state, units_}})
    for_weights(4 * units_, inputs, [&, at = offset](std::size_t torch, std::size_t own) {
      working[at + own] = flat[at + torch];
    });
}

void LstmLevel::restore(std::span<const float> working, std::span<float> flat) const {
  for (const auto& [offset, inputs] :
       {std::pair(at_.from_input, inputs_), {at_.from_state, units_}})
    for_weights(4 * units_, inputs, [&, at = offset](std::size_t torch, std::size_t own) {
      flat[at + torch] = working[at + own];
    });
}

}  // namespace tessera
