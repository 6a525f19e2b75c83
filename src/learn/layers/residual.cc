#include "learn/layers/residual.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "learn/cpu_chain.h"
#include "learn/norm_kernels.h"

namespace tessera {
namespace {

class CpuResidual final : public CpuLayer {
 public:
  CpuResidual(const Residual& residual, const CpuPlace& place)
      : relu_(place.relu),
        body_(place.model, residual.body, place.batch_max, /*first=*/false, place.kernels),
        shortcut_(place.model, residual.shortcut, place.batch_max,
                  /*first=*/false, place.kernels) {
    CHECK(!place.first);
    std::size_t inputs = 1;
    for (const std::uint32_t extent : place.layer.in) inputs *= extent;
    inputs_ = inputs;
    outputs_ = outputs_of(residual, inputs);
    out_.resize(place.batch_max * outputs_);
    d_out_.resize(out_.size());
    d_skip_.resize(place.batch_max * inputs_);
  }

  void arrange(std::span<const float> flat, std::span<float> working) const override {
    body_.arrange(flat, working);
    shortcut_.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    body_.restore(working, flat);
    shortcut_.restore(working, flat);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    batch_ = batch;
    body_.forward(parameters, in, batch);
    if (!shortcut_.empty()) shortcut_.forward(parameters, in, batch);
    const float* const skip = shortcut_.empty() ? in : shortcut_.out();
    for (std::size_t i = 0; i < batch * outputs_; ++i) out_[i] = body_.out()[i] + skip[i];
    if (relu_) relu(batch * outputs_, out_.data(), out_.data());
  }

  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    if (relu_) relu_gradient(batch_ * outputs_, out_.data(), d_out_.data());
    std::copy_n(d_out_.data(), batch_ * outputs_, body_.d_out());
    body_.backward(parameters, gradient, in, d_in);
    if (!shortcut_.empty()) {
      std::copy_n(d_out_.data(), batch_ * outputs_, shortcut_.d_out());
      shortcut_.backward(parameters, gradient, in, d_skip_.data());
    }
    const float* const skip = shortcut_.empty() ? d_out_.data() : d_skip_.data();
    for (std::size_t i = 0; i < batch_ * inputs_; ++i) d_in[i] += skip[i];
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  static std::size_t outputs_of(const Residual& residual, std::size_t inputs) {
    if (residual.shortcut.empty()) return inputs;
    std::size_t outputs = 1;  // A norm ends the shortcut and leaves the shape alone.
    for (const std::uint32_t extent : residual.shortcut.back().in) outputs *= extent;
    return outputs;
  }

  bool relu_;
  CpuChain body_, shortcut_;
  std::size_t inputs_ = 0, outputs_ = 0, batch_ = 0;
  Floats64 out_, d_out_, d_skip_;
};

}  // namespace

Residual add_residual(ModelBuilder& builder, std::string_view name, const ResidualBlock& block) {
  const std::vector<std::uint32_t> in = builder.shape();
  Residual residual;
  residual.body = builder.branch([&] {
    builder.convolution(fmt::format("{}.conv1", name), block.outputs, 3, block.stride)
        .group_norm(fmt::format("{}.gn1", name), block.groups)
        .relu()
        .convolution(fmt::format("{}.conv2", name), block.outputs, 3)
        .group_norm(fmt::format("{}.gn2", name), block.groups);
  });
  if (builder.shape() == in) return residual;
  const std::vector<std::uint32_t> out = builder.shape();
  builder.reshape(in);
  residual.shortcut = builder.branch([&] {
    builder.convolution(fmt::format("{}.shortcut.0", name), block.outputs, 1, block.stride)
        .group_norm(fmt::format("{}.shortcut.1", name), block.groups);
  });
  CHECK(builder.shape() == out);
  return residual;
}

std::unique_ptr<CpuLayer> make_cpu(const Residual& residual, const CpuPlace& place) {
  return std::make_unique<CpuResidual>(residual, place);
}

}  // namespace tessera
