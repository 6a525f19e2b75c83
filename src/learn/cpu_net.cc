#include "learn/cpu_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "base/check.h"
#include "learn/amx.h"
#include "learn/bf16.h"
#include "learn/cpu_chain.h"
#include "learn/loss.h"
#include "learn/panel_product.h"

namespace tessera {
namespace {

class CpuNet final : public NodeModel {
 public:
  CpuNet(const Model& model, std::size_t batch_max, CpuKernels kernels)
      : task_(model.task),
        outputs_(model.outputs),
        batch_max_(batch_max),
        chain_(model, model.layers, batch_max, /*first=*/true, kernels),
        parameters_(model.dimension()),
        gradient_(model.dimension()) {}

  std::size_t outputs() const override { return outputs_; }
  std::span<float> parameters() override { return parameters_; }
  std::size_t trained() const override { return parameters_.size(); }

  void arrange(std::span<const float> flat, std::span<float> working) const override {
    std::copy(flat.begin(), flat.end(), working.begin());
    chain_.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    std::copy(working.begin(), working.end(), flat.begin());
    chain_.restore(working, flat);
  }

  float differentiate(const Batch& batch) override {
    const float loss = forward_with_loss(batch);
    chain_.backward(parameters_, gradient_, batch.features.data(), nullptr);
    return loss;
  }
  std::span<const float> gradient() const override { return gradient_; }

  float descend(const Batch& batch, const Update& update) override {
    const float loss = forward_with_loss(batch);
    chain_.descend(parameters_, gradient_, batch.features.data(), nullptr, {0, parameters_.size()},
                   update);
    return loss;
  }

  void predict(const Batch& batch, std::span<float> out) override {
    forward(batch);
    std::copy_n(chain_.out(), batch.size() * outputs_, out.begin());
  }

 private:
  void forward(const Batch& batch) {
    CHECK(batch.size() <= batch_max_);
    chain_.forward(parameters_, batch.features.data(), batch.size());
  }
  // Leaves the loss's gradient in the chain's d_out().
  float forward_with_loss(const Batch& batch) {
    forward(batch);
    const std::span<float> d_out(chain_.d_out(), batch.size() * outputs_);
    std::copy_n(chain_.out(), d_out.size(), d_out.begin());
    return loss_and_gradient(task_, d_out, batch.targets);
  }

  Task task_;
  std::size_t outputs_, batch_max_;
  CpuChain chain_;
  Floats64 parameters_, gradient_;
};

[[noreturn]] void refuse(const Model& model, const Layer& layer, std::string_view what) {
  const std::string& weight = model.parameters[layer.first_parameter].name;
  throw std::invalid_argument(
      fmt::format("model {}: {} has {}: change the model, or use device=cuda", model.name,
                  weight.substr(0, weight.rfind('.')), what));
}

void require_multiple(const Model& model, const Layer& layer, std::size_t width, std::size_t of,
                      std::string_view what) {
  if (width % of != 0)
    refuse(model, layer,
           fmt::format("{} {}, and on the CPU they must be a multiple of {}", width, what, of));
}

void require_whole_vectors(const Model& model, std::span<const Layer> layers) {
  for (const Layer& layer : layers) {
    if (const auto* const conv = std::get_if<Convolution>(&layer.kind)) {
      require_multiple(model, layer, conv->outputs, 16, "channels");
      if (&layer == model.layers.data() && conv->stride != 1)
        refuse(model, layer, "a stride, which the first layer on the CPU cannot");
    } else if (const auto* const lstm = std::get_if<Lstm>(&layer.kind)) {
      require_multiple(model, layer, lstm->units, kPanel, "units");
    } else if (const auto* const residual = std::get_if<Residual>(&layer.kind)) {
      require_whole_vectors(model, residual->body);
      require_whole_vectors(model, residual->shortcut);
    }
  }
}

}  // namespace

void require_whole_vectors(const Model& model) {
  require_whole_vectors(model, model.layers);
}

void require_bf16(const Model& model, bool amx) {
  if (!has_bf16())
    throw std::invalid_argument(
        "device: precision=bf16 needs a CPU with AVX-512 BF16, and this one has none: leave it "
        "out");
  if (amx && !has_amx())
    throw std::invalid_argument(
        "device: convolution=amx needs a CPU with AMX and bf16 that the system lets programs use, "
        "and this one has none: leave it out");
  for (const Layer& layer : model.layers)
    if (std::holds_alternative<Convolution>(layer.kind) ||
        std::holds_alternative<Residual>(layer.kind))
      return;
  refuse_bf16(model.name);
}

void refuse_bf16(std::string_view model) {
  throw std::invalid_argument(
      fmt::format("device: precision=bf16 is for convolutions of the CPU layers, and model {} has "
                  "none: leave it out",
                  model));
}

std::unique_ptr<NodeModel> make_cpu_net(const Model& model, std::size_t batch_max,
                                        CpuKernels kernels) {
  return std::make_unique<CpuNet>(model, batch_max, kernels);
}

}  // namespace tessera
