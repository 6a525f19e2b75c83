// The hand-written net: blocks of convolution, norm, ReLU and pooling, then linear layers with ReLU
// between. Nothing is allocated after construction, and a step touches each activation a few times
// instead of a dozen.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/check.h"
#include "learn/conv_block.h"
#include "learn/node_model.h"

namespace tessera {
namespace {

struct Dense {
  LinearShape shape{};
  std::size_t weight = 0, bias = 0;  // Offsets in the flat vector.
  bool relu = false;                 // After it.
  Floats64 in{}, d_in{};
};

class ConvNet final : public NodeModel {
 public:
  // Null members where a layer is unknown; make_conv_net() looks.
  ConvNet(const Model& model, std::size_t batch_max);
  bool complete() const { return complete_; }

  std::size_t outputs() const override { return dense_.back().shape.outputs; }
  std::span<float> parameters() override { return parameters_; }
  std::size_t trained() const override { return parameters_.size(); }
  void arrange(std::span<const float> flat, std::span<float> working) const override;
  void restore(std::span<const float> working, std::span<float> flat) const override;
  float differentiate(const Batch& batch) override;
  std::span<const float> gradient() const override { return gradient_; }
  void predict(const Batch& batch, std::span<float> out) override;

 private:
  void forward(const Batch& batch, float* out);
  void backward_dense(std::size_t batch);
  void backward_blocks();

  Task task_;
  std::size_t batch_max_;
  bool complete_ = false;
  std::vector<std::unique_ptr<ConvBlock>> blocks_;
  std::vector<Dense> dense_;
  Floats64 parameters_, gradient_, outputs_;
};

ConvNet::ConvNet(const Model& model, std::size_t batch_max)
    : task_(model.task), batch_max_(batch_max) {
  using Kind = Layer::Kind;
  std::span<const Layer> left = model.layers;
  std::size_t taken = 0;
  while (auto block = ConvBlock::take(model, left, blocks_.empty(), batch_max, taken)) {
    blocks_.push_back(std::move(block));
    left = left.subspan(taken);
  }
  while (!left.empty() && left[0].kind == Kind::kLinear) {
    Dense& dense = dense_.emplace_back();
    dense.shape = {.batch = 0, .inputs = left[0].inputs, .outputs = left[0].outputs};
    dense.weight = model.parameters[left[0].first_parameter].offset;
    dense.bias = model.parameters[left[0].first_parameter + 1].offset;
    dense.in.resize(batch_max * dense.shape.inputs);
    dense.d_in.resize(batch_max * dense.shape.inputs);
    left = left.subspan(1);
    dense.relu = !left.empty() && left[0].kind == Kind::kRelu;
    if (dense.relu) left = left.subspan(1);
  }
  complete_ = left.empty() && !dense_.empty() && !dense_.back().relu && model.task.classes > 0;
  if (!complete_) return;
  parameters_.resize(model.dimension());
  gradient_.resize(model.dimension());
  outputs_.resize(batch_max * dense_.back().shape.outputs);
}

void ConvNet::arrange(std::span<const float> flat, std::span<float> working) const {
  std::copy(flat.begin(), flat.end(), working.begin());
  for (const auto& block : blocks_) block->arrange(flat, working);
}

void ConvNet::restore(std::span<const float> working, std::span<float> flat) const {
  std::copy(working.begin(), working.end(), flat.begin());
  for (const auto& block : blocks_) block->restore(working, flat);
}

void ConvNet::forward(const Batch& batch, float* out) {
  const std::size_t size = batch.size();
  CHECK(size <= batch_max_);
  if (blocks_.empty()) {
    std::copy(batch.features.begin(), batch.features.end(), dense_.front().in.begin());
  } else {
    blocks_.front()->read_images(batch.features, size);
    const float* in = nullptr;
    for (const auto& block : blocks_) {
      block->forward(parameters_, in, size);
      in = block->pooled();
    }
    blocks_.back()->flatten(dense_.front().in.data());
  }
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    Dense& dense = dense_[i];
    dense.shape.batch = size;
    float* const to = i + 1 < dense_.size() ? dense_[i + 1].in.data() : out;
    linear(dense.shape, dense.in.data(), &parameters_[dense.weight], &parameters_[dense.bias], to);
    // Written so that a NaN stays one.
    if (dense.relu)
      for (std::size_t k = 0; k < size * dense.shape.outputs; ++k) to[k] = to[k] <= 0 ? 0 : to[k];
  }
}

float ConvNet::differentiate(const Batch& batch) {
  forward(batch, outputs_.data());
  const float loss =
      loss_and_gradient(task_, std::span(outputs_).first(batch.size() * outputs()), batch.targets);
  backward_dense(batch.size());
  backward_blocks();
  return loss;
}

void ConvNet::backward_dense(std::size_t batch) {
  const float* d_out = outputs_.data();
  for (std::size_t i = dense_.size(); i-- > 0;) {
    Dense& dense = dense_[i];
    linear_weights(dense.shape, dense.in.data(), d_out, &gradient_[dense.weight]);
    for (std::size_t o = 0; o < dense.shape.outputs; ++o) {
      float sum = 0;
      for (std::size_t n = 0; n < batch; ++n) sum += d_out[n * dense.shape.outputs + o];
      gradient_[dense.bias + o] = sum;
    }
    if (i == 0 && blocks_.empty()) return;
    linear_inputs(dense.shape, d_out, &parameters_[dense.weight], dense.d_in.data());
    if (i > 0 && dense_[i - 1].relu)
      for (std::size_t k = 0; k < batch * dense.shape.inputs; ++k)
        if (dense.in[k] <= 0) dense.d_in[k] = 0;
    d_out = dense.d_in.data();
  }
}

void ConvNet::backward_blocks() {
  if (blocks_.empty()) return;
  blocks_.back()->unflatten(dense_.front().d_in.data());
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const float* const in = i > 0 ? blocks_[i - 1]->pooled() : nullptr;
    blocks_[i]->backward(parameters_, gradient_, in, i > 0 ? blocks_[i - 1]->d_pooled() : nullptr);
  }
}

void ConvNet::predict(const Batch& batch, std::span<float> out) {
  forward(batch, out.data());
}

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

}  // namespace

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

std::unique_ptr<NodeModel> make_conv_net(const Model& model, std::size_t batch_max) {
  auto net = std::make_unique<ConvNet>(model, batch_max);
  if (!net->complete()) return nullptr;
  return net;
}

}  // namespace tessera
