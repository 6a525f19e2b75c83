#include "learn/cpu_net.h"

#include <algorithm>

#include "base/check.h"
#include "learn/cpu_chain.h"
#include "learn/loss.h"

namespace tessera {
namespace {

class CpuNet final : public NodeModel {
 public:
  CpuNet(const Model& model, std::size_t batch_max)
      : task_(model.task),
        outputs_(model.outputs),
        batch_max_(batch_max),
        chain_(model, model.layers, batch_max, /*first=*/true),
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

}  // namespace

std::unique_ptr<NodeModel> make_cpu_net(const Model& model, std::size_t batch_max) {
  return std::make_unique<CpuNet>(model, batch_max);
}

}  // namespace tessera
