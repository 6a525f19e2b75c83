#include "learn/lstm_level.h"

#include <algorithm>

#include "base/check.h"
#include "learn/conv_kernels.h"
#include "learn/lstm_kernels.h"

namespace tessera {
namespace {

// PyTorch's [gates][inputs] against panels [gates / 32][inputs][32].
template <typename Move>
void for_weights(std::size_t gates, std::size_t inputs, Move move) {
  constexpr std::size_t kPanel = LstmLevel::kPanel;
  for (std::size_t gate = 0; gate < gates; ++gate)
    for (std::size_t input = 0; input < inputs; ++input)
      move(gate * inputs + input, ((gate / kPanel) * inputs + input) * kPanel + gate % kPanel);
}

}  // namespace

LstmLevel::LstmLevel(const Model& model, const Layer& layer, std::size_t level,
                     std::size_t batch_max)
    : inputs_(level == 0 ? layer.inputs : layer.outputs),
      units_(layer.outputs),
      steps_(layer.in[0]),
      batch_(batch_max) {
  CHECK(units_ % kPanel == 0);
  const std::size_t first = layer.first_parameter + 4 * level;
  from_input_ = model.parameters[first].offset;
  from_state_ = model.parameters[first + 1].offset;
  input_bias_ = model.parameters[first + 2].offset;
  state_bias_ = model.parameters[first + 3].offset;
  const std::size_t rows = steps_ * batch_max;
  gates_.resize(4 * units_ * rows);
  for (Floats64* each : {&c_, &tanh_c_, &states_, &d_states_}) each->resize(units_ * rows);
  for (Floats64* each : {&h_panel_, &d_h_panel_}) each->resize(kPanel * batch_max);
  d_c_.resize(units_ * batch_max);
  turned_input_.resize(4 * units_ * d_inputs());
  turned_state_.resize(4 * units_ * units_);
}

void LstmLevel::forward(std::span<const float> parameters, const float* x, std::size_t batch) {
  batch_ = batch;
  const std::size_t rows = steps_ * batch;
  // What the inputs contribute to all gates of all steps, on top of both biases.
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    float* const out = &gates_[place(panel, 0)];
    for (std::size_t column = 0; column < kPanel; ++column)
      out[column] = parameters[input_bias_ + panel * kPanel + column] +
                    parameters[state_bias_ + panel * kPanel + column];
    for (std::size_t row = 1; row < rows; ++row) std::copy_n(out, kPanel, out + row * kPanel);
    multiply({.rows = rows,
              .columns = kPanel,
              .count = inputs_,
              .a = x,
              .a_row = inputs_,
              .a_k = 1,
              .b = &parameters[from_input_ + panel * inputs_ * kPanel],
              .b_k = kPanel,
              .out = out,
              .out_row = kPanel,
              .add = true});
  }
  for (std::size_t step = 0; step < steps_; ++step) {
    for (std::size_t panel = 0; step > 0 && panel < panels(); ++panel)
      multiply({.rows = batch,
                .columns = kPanel,
                .count = units_,
                .a = &states_[(step - 1) * batch * units_],
                .a_row = units_,
                .a_k = 1,
                .b = &parameters[from_state_ + panel * units_ * kPanel],
                .b_k = kPanel,
                .out = &gates_[place(panel, step)],
                .out_row = kPanel,
                .add = true});
    run_cell(step);
  }
}

void LstmLevel::run_cell(std::size_t step) {
  const std::size_t quarter = units_ / kPanel;
  for (std::size_t q = 0; q < quarter; ++q) {
    lstm_cell(batch_ * kPanel,
              {&gates_[place(q, step)], &gates_[place(quarter + q, step)],
               &gates_[place(2 * quarter + q, step)], &gates_[place(3 * quarter + q, step)]},
              step > 0 ? &c_[place(q, step - 1)] : nullptr, &c_[place(q, step)],
              &tanh_c_[place(q, step)], h_panel_.data());
    for (std::size_t n = 0; n < batch_; ++n)
      std::copy_n(&h_panel_[n * kPanel], kPanel,
                  &states_[(step * batch_ + n) * units_ + q * kPanel]);
  }
}

void LstmLevel::backward(std::span<const float> parameters, std::span<float> gradient,
                         const float* x, float* d_x) {
  turn(&parameters[from_state_], units_, turned_state_);
  std::fill(d_c_.begin(), d_c_.end(), 0.0f);
  for (std::size_t step = steps_; step-- > 0;) {
    // What the next step's gates hand back, on top of what came from above.
    for (std::size_t q = 0; step + 1 < steps_ && q < units_ / kPanel; ++q)
      multiply({.rows = batch_,
                .columns = kPanel,
                .count = kPanel,
                .segments = panels(),
                .a = &gates_[place(0, step + 1)],
                .a_row = kPanel,
                .a_k = 1,
                .a_segment = place(1, 0),
                .b = &turned_state_[q * 4 * units_ * kPanel],
                .b_k = kPanel,
                .b_segment = kPanel * kPanel,
                .out = &d_states_[step * batch_ * units_ + q * kPanel],
                .out_row = units_,
                .add = true});
    run_cell_gradient(step);
  }
  weight_gradients(gradient, x);
  if (!d_x) return;
  turn(&parameters[from_input_], inputs_, turned_input_);
  const std::size_t wide = std::min(kPanel, d_inputs());
  for (std::size_t first = 0; first < d_inputs(); first += wide)
    multiply({.rows = steps_ * batch_,
              .columns = wide,
              .count = kPanel,
              .segments = panels(),
              .a = gates_.data(),
              .a_row = kPanel,
              .a_k = 1,
              .a_segment = place(1, 0),
              .b = &turned_input_[first * 4 * units_],
              .b_k = wide,
              .b_segment = kPanel * wide,
              .out = d_x + first,
              .out_row = d_inputs()});
}

void LstmLevel::run_cell_gradient(std::size_t step) {
  const std::size_t quarter = units_ / kPanel;
  for (std::size_t q = 0; q < quarter; ++q) {
    for (std::size_t n = 0; n < batch_; ++n)
      std::copy_n(&d_states_[(step * batch_ + n) * units_ + q * kPanel], kPanel,
                  &d_h_panel_[n * kPanel]);
    lstm_cell_gradient(
        batch_ * kPanel,
        {&gates_[place(q, step)], &gates_[place(quarter + q, step)],
         &gates_[place(2 * quarter + q, step)], &gates_[place(3 * quarter + q, step)]},
        step > 0 ? &c_[place(q, step - 1)] : nullptr, &tanh_c_[place(q, step)], d_h_panel_.data(),
        &d_c_[q * batch_ * kPanel]);
  }
}

void LstmLevel::weight_gradients(std::span<float> gradient, const float* x) const {
  const std::size_t rows = steps_ * batch_;
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    const float* const d_gates = &gates_[place(panel, 0)];
    multiply({.rows = inputs_,
              .columns = kPanel,
              .count = rows,
              .a = x,
              .a_row = 1,
              .a_k = inputs_,
              .b = d_gates,
              .b_k = kPanel,
              .out = &gradient[from_input_ + panel * inputs_ * kPanel],
              .out_row = kPanel});
    // The first step had no state before it.
    multiply({.rows = units_,
              .columns = kPanel,
              .count = rows - batch_,
              .a = states_.data(),
              .a_row = 1,
              .a_k = units_,
              .b = d_gates + batch_ * kPanel,
              .b_k = kPanel,
              .out = &gradient[from_state_ + panel * units_ * kPanel],
              .out_row = kPanel});
    float* const bias = &gradient[input_bias_ + panel * kPanel];
    std::fill_n(bias, kPanel, 0.0f);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < kPanel; ++column)
        bias[column] += d_gates[row * kPanel + column];
    std::copy_n(bias, kPanel, &gradient[state_bias_ + panel * kPanel]);
  }
}

void LstmLevel::turn(const float* weights, std::size_t inputs, Floats64& turned) const {
  const std::size_t wide = std::min(kPanel, (inputs + 15) / 16 * 16), gates = 4 * units_;
  for (std::size_t panel = 0; panel < panels(); ++panel)
    for (std::size_t input = 0; input < inputs; ++input)
      for (std::size_t column = 0; column < kPanel; ++column)
        turned[(input / wide * gates + panel * kPanel + column) * wide + input % wide] =
            weights[(panel * inputs + input) * kPanel + column];
}

void LstmLevel::arrange(std::span<const float> flat, std::span<float> working) const {
  for (const auto& [offset, inputs] : {std::pair(from_input_, inputs_), {from_state_, units_}})
    for_weights(4 * units_, inputs, [&](std::size_t torch, std::size_t own) {
      working[offset + own] = flat[offset + torch];
    });
}

void LstmLevel::restore(std::span<const float> working, std::span<float> flat) const {
  for (const auto& [offset, inputs] : {std::pair(from_input_, inputs_), {from_state_, units_}})
    for_weights(4 * units_, inputs, [&](std::size_t torch, std::size_t own) {
      flat[offset + torch] = working[offset + own];
    });
}

}  // namespace tessera
