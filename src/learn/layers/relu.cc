#include "learn/layers/relu.h"

#include <algorithm>

#include "learn/layers/cpu_layer.h"
#include "learn/norm_kernels.h"

namespace tessera {
namespace {

class CpuRelu final : public CpuLayer {
 public:
  explicit CpuRelu(const CpuPlace& place) {
    for (const std::uint32_t extent : place.layer.in) width_ *= extent;
    out_.resize(place.batch_max * width_);
    d_out_.resize(out_.size());
  }

  void forward(std::span<const float>, const float* in, std::size_t batch) override {
    count_ = batch * width_;
    relu(count_, in, out_.data());
  }
  void backward(std::span<const float>, std::span<float>, const float*, float* d_in) override {
    if (!d_in) return;
    relu_gradient(count_, out_.data(), d_out_.data());
    std::copy_n(d_out_.data(), count_, d_in);
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  std::size_t width_ = 1, count_ = 0;
  Floats64 out_, d_out_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu(const Relu&, const CpuPlace& place) {
  return std::make_unique<CpuRelu>(place);
}

}  // namespace tessera
