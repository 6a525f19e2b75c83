// The hand-written net for sequences: embedding, LSTM levels, ReLU over all their states, one
// linear layer. Nothing is allocated after construction.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "learn/lstm_level.h"
#include "learn/node_model.h"

namespace tessera {
namespace {

class RecurrentNet final : public NodeModel {
 public:
  RecurrentNet(const Model& model, std::size_t batch_max);

  std::size_t outputs() const override { return dense_.outputs; }
  std::span<float> parameters() override { return parameters_; }
  std::size_t trained() const override { return parameters_.size(); }
  void arrange(std::span<const float> flat, std::span<float> working) const override {
    std::copy(flat.begin(), flat.end(), working.begin());
    for (const LstmLevel& level : levels_) level.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    std::copy(working.begin(), working.end(), flat.begin());
    for (const LstmLevel& level : levels_) level.restore(working, flat);
  }
  float differentiate(const Batch& batch) override;
  std::span<const float> gradient() const override { return gradient_; }
  void predict(const Batch& batch, std::span<float> out) override { forward(batch, out.data()); }

 private:
  void forward(const Batch& batch, float* out);
  void backward_dense(std::size_t batch);
  void backward_levels(const Batch& batch);

  Task task_;
  std::size_t batch_max_, steps_, width_;
  std::size_t embedding_ = 0, weight_ = 0, bias_ = 0;  // Offsets.
  std::vector<LstmLevel> levels_;
  LinearShape dense_{};
  Floats64 parameters_, gradient_, embedded_, d_embedded_, flat_states_, d_flat_states_, outputs_;
};

RecurrentNet::RecurrentNet(const Model& model, std::size_t batch_max)
    : task_(model.task),
      batch_max_(batch_max),
      steps_(model.layers[0].in[0]),
      width_(model.layers[0].outputs) {
  const Layer &lstm = model.layers[1], &linear = model.layers[3];
  embedding_ = model.parameters[model.layers[0].first_parameter].offset;
  for (std::size_t i = 0; i < lstm.groups; ++i) levels_.emplace_back(model, lstm, i, batch_max);
  dense_ = {.batch = 0, .inputs = linear.inputs, .outputs = linear.outputs};
  weight_ = model.parameters[linear.first_parameter].offset;
  bias_ = model.parameters[linear.first_parameter + 1].offset;
  parameters_.resize(model.dimension());
  gradient_.resize(model.dimension());
  embedded_.resize(steps_ * batch_max * width_);
  d_embedded_.resize(steps_ * batch_max * levels_.front().d_inputs());
  flat_states_.resize(batch_max * linear.inputs);
  d_flat_states_.resize(batch_max * linear.inputs);
  outputs_.resize(batch_max * linear.outputs);
}

void RecurrentNet::forward(const Batch& batch, float* out) {
  const std::size_t size = batch.size(), units = levels_.back().units();
  CHECK(size <= batch_max_);
  for (std::size_t n = 0; n < size; ++n)
    for (std::size_t step = 0; step < steps_; ++step) {
      const auto token = static_cast<std::size_t>(batch.features[n * steps_ + step]);
      CHECK(token < task_.vocabulary);
      std::copy_n(&parameters_[embedding_ + token * width_], width_,
                  &embedded_[(step * size + n) * width_]);
    }
  const float* x = embedded_.data();
  for (LstmLevel& level : levels_) {
    level.forward(parameters_, x, size);
    x = level.states();
  }
  for (std::size_t n = 0; n < size; ++n)
    for (std::size_t step = 0; step < steps_; ++step)
      for (std::size_t i = 0; i < units; ++i) {
        const float state = x[(step * size + n) * units + i];
        flat_states_[(n * steps_ + step) * units + i] = state <= 0 ? 0 : state;
      }
  dense_.batch = size;
  linear(dense_, flat_states_.data(), &parameters_[weight_], &parameters_[bias_], out);
}

float RecurrentNet::differentiate(const Batch& batch) {
  forward(batch, outputs_.data());
  const float loss =
      loss_and_gradient(task_, std::span(outputs_).first(batch.size() * outputs()), batch.targets);
  backward_dense(batch.size());
  backward_levels(batch);
  return loss;
}

void RecurrentNet::backward_dense(std::size_t batch) {
  linear_weights(dense_, flat_states_.data(), outputs_.data(), &gradient_[weight_]);
  for (std::size_t o = 0; o < dense_.outputs; ++o) {
    float sum = 0;
    for (std::size_t n = 0; n < batch; ++n) sum += outputs_[n * dense_.outputs + o];
    gradient_[bias_ + o] = sum;
  }
  linear_inputs(dense_, outputs_.data(), &parameters_[weight_], d_flat_states_.data());
  const std::size_t units = levels_.back().units();
  float* const d_states = levels_.back().d_states();
  for (std::size_t n = 0; n < batch; ++n)
    for (std::size_t step = 0; step < steps_; ++step)
      for (std::size_t i = 0; i < units; ++i) {
        const std::size_t at = (n * steps_ + step) * units + i;
        d_states[(step * batch + n) * units + i] = flat_states_[at] <= 0 ? 0 : d_flat_states_[at];
      }
}

void RecurrentNet::backward_levels(const Batch& batch) {
  for (std::size_t i = levels_.size(); i-- > 0;)
    levels_[i].backward(parameters_, gradient_, i > 0 ? levels_[i - 1].states() : embedded_.data(),
                        i > 0 ? levels_[i - 1].d_states() : d_embedded_.data());
  std::fill_n(&gradient_[embedding_], task_.vocabulary * width_, 0.0f);
  const std::size_t stride = levels_.front().d_inputs();
  for (std::size_t n = 0; n < batch.size(); ++n)
    for (std::size_t step = 0; step < steps_; ++step) {
      const auto token = static_cast<std::size_t>(batch.features[n * steps_ + step]);
      for (std::size_t i = 0; i < width_; ++i)
        gradient_[embedding_ + token * width_ + i] +=
            d_embedded_[(step * batch.size() + n) * stride + i];
    }
}

}  // namespace

std::unique_ptr<NodeModel> make_recurrent_net(const Model& model, std::size_t batch_max) {
  using Kind = Layer::Kind;
  const std::vector<Layer>& layers = model.layers;
  const bool fits = layers.size() == 4 && layers[0].kind == Kind::kEmbedding &&
                    layers[1].kind == Kind::kLstm && layers[2].kind == Kind::kRelu &&
                    layers[3].kind == Kind::kLinear && model.task.classes > 0 &&
                    layers[1].outputs % LstmLevel::kPanel == 0;
  if (!fits) return nullptr;
  return std::make_unique<RecurrentNet>(model, batch_max);
}

}  // namespace tessera
