#include "learn/layers/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "learn/conv_kernels.h"
#include "learn/layers/cpu_layer.h"
#include "learn/norm_kernels.h"

namespace tessera {
namespace {

class CpuLinear final : public CpuLayer {
 public:
  CpuLinear(const Linear& linear, const CpuPlace& place)
      : shape_{.batch = 0, .inputs = linear.inputs, .outputs = linear.outputs},
        relu_(place.relu),
        weight_(place.offset(0)),
        bias_(place.offset(1)),
        out_(place.batch_max * linear.outputs),
        d_out_(out_.size()) {}

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    shape_.batch = batch;
    linear(shape_, in, &parameters[weight_], &parameters[bias_], out_.data());
    if (relu_) relu(batch * shape_.outputs, out_.data(), out_.data());
  }

  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    begin_backward(gradient);
    const OutputRange all{0, shape_.outputs};
    linear_weights(shape_, in, d_out_.data(), all, &gradient[weight_]);
    if (d_in) linear_inputs(shape_, d_out_.data(), &parameters[weight_], all, d_in);
  }

  // The weights of a few outputs at a time are read and moved while they are in the cache. Their
  // gradient is used at once, so all parts write theirs to one place.
  void descend(std::span<const float> parameters, std::span<float> gradient, const float* in,
               float* d_in, Extent /*own*/, const Update& update) override {
    begin_backward(gradient);
    update(bias_, gradient.subspan(bias_, shape_.outputs));
    const std::size_t together = std::max<std::size_t>(1, kPartMax / shape_.inputs);
    for (std::size_t first = 0; first < shape_.outputs; first += together) {
      const OutputRange part{first, std::min(together, shape_.outputs - first)};
      if (d_in) linear_inputs(shape_, d_out_.data(), &parameters[weight_], part, d_in);
      linear_weights(shape_, in, d_out_.data(), part, &gradient[weight_]);
      update(weight_ + first * shape_.inputs,
             gradient.subspan(weight_, part.count * shape_.inputs));
    }
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  // 512 KiB of weights, and their gradient as much: half of a common second cache.
  static constexpr std::size_t kPartMax = 128 * 1024;

  void begin_backward(std::span<float> gradient) {
    if (relu_) relu_gradient(shape_.batch * shape_.outputs, out_.data(), d_out_.data());
    for (std::size_t o = 0; o < shape_.outputs; ++o) {
      float sum = 0;
      for (std::size_t n = 0; n < shape_.batch; ++n) sum += d_out_[n * shape_.outputs + o];
      gradient[bias_ + o] = sum;
    }
  }

  LinearShape shape_;
  bool relu_;
  std::size_t weight_, bias_;  // Offsets in the flat vector.
  Floats64 out_, d_out_;
};

}  // namespace

Linear add_linear(ModelBuilder& builder, std::string_view name, std::uint32_t outputs) {
  Linear linear{.inputs = 1, .outputs = outputs};
  for (const std::uint32_t extent : builder.shape()) linear.inputs *= extent;
  const Initial initial = uniform(1 / std::sqrt(double{1} * linear.inputs));
  builder.parameter(fmt::format("{}.weight", name), {outputs, linear.inputs}, initial);
  builder.parameter(fmt::format("{}.bias", name), {outputs}, initial);
  builder.reshape({outputs});
  return linear;
}

std::unique_ptr<CpuLayer> make_cpu(const Linear& linear, const CpuPlace& place) {
  return std::make_unique<CpuLinear>(linear, place);
}

}  // namespace tessera
