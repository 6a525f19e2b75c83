// One level of an LSTM over a whole sequence on the CPU, forward and backward. Autograd adds up the
// gradient of the recurrent weights once per step of the sequence; here the steps' gate gradients
// are kept and the sum over steps is one matrix product.
//
// Everything wide is cut into panels of 32 columns, each panel contiguous, so that a product walks
// memory in order: weights are [panel][inputs][32] in working order; gates, states and what comes
// in are [panel][steps][batch][32]. A unit's four gates are in panels a quarter of the list apart.
#pragma once

#include <cstddef>
#include <span>

#include "learn/floats.h"
#include "learn/model.h"
#include "learn/node_model.h"
#include "learn/panel_product.h"

namespace tessera {

// One of a level's two weight matrices and what it was multiplied with.
struct LstmWeights {
  const float* x = nullptr;  // Panels.
  std::size_t inputs = 0;
  std::size_t offset = 0;      // In the flat vector.
  std::size_t first_step = 0;  // The states' first is one: no state came before the first step.
};

class LstmLevel {
 public:
  static constexpr std::size_t kPanel = tessera::kPanel;

  // `level` of the layer, whose units must be a multiple of kPanel.
  LstmLevel(const Model& model, const Layer& layer, std::size_t level, std::size_t batch_max);

  // x and states() are panels, panel_size(batch) apart.
  void forward(std::span<const float> parameters, const float* x, std::size_t batch);
  // d_states() is [steps][batch][units]; writes this level's gradient and, unless null, d_x
  // [steps][batch][d_inputs()], where inputs are rounded up to whole panels. With an `update`,
  // which may be empty, the gradient is used up part by part.
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* x,
                float* d_x, const Update& update);

  const float* states() const { return states_.data(); }
  float* d_states() { return d_states_.data(); }
  // An odd number of steps: at a power of two, all panels of a step would share a few sets of the
  // nearest cache.
  std::size_t panel_size(std::size_t batch) const { return (steps_ | 1) * batch * kPanel; }
  std::size_t d_inputs() const { return (inputs_ + kPanel - 1) / kPanel * kPanel; }
  std::size_t units() const { return units_; }

  void arrange(std::span<const float> flat, std::span<float> working) const;
  void restore(std::span<const float> working, std::span<float> flat) const;

 private:
  std::size_t panels() const { return 4 * units_ / kPanel; }
  // One step's place in an array of panels.
  std::size_t place(std::size_t panel, std::size_t step) const {
    return panel * panel_size(batch_) + step * batch_ * kPanel;
  }
  // Parts of one step: a panel of units, the gates of which stay in the nearest cache meanwhile.
  void add_states(std::span<const float> parameters, std::size_t step, std::size_t panel);
  void run_cell(std::size_t step, std::size_t unit_panel);
  void return_states(std::size_t step, std::size_t unit_panel);
  void run_cell_gradient(std::size_t step, std::size_t unit_panel);
  void weight_gradient(const LstmWeights& weights, std::span<float> gradient,
                       const Update& update) const;
  // d_x from the gates and the turned weights.
  void input_gradient(float* d_x) const;
  void bias_gradients(std::span<float> gradient, const Update& update) const;
  // The weights by rows of gates, in panels of columns: what the way back multiplies with.
  void turn(const float* weights, std::size_t inputs);

  std::size_t inputs_ = 0, units_ = 0, steps_ = 0, batch_ = 0;
  struct Offsets {
    std::size_t from_input = 0, from_state = 0, input_bias = 0, state_bias = 0;
  } at_;  // Of its parameters in the flat vector.
  Floats64 gates_, c_, tanh_c_, states_, d_states_;
  Floats64 d_h_panel_, d_c_, turned_;
};

}  // namespace tessera
