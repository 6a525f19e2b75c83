#include "learn/layers/mean_pool.h"

#include <algorithm>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"
#include "learn/pool_kernels.h"

namespace tessera {
namespace {

class CpuMeanPool final : public CpuLayer {
 public:
  explicit CpuMeanPool(const CpuPlace& place)
      : channels_(place.layer.in[0]),
        shape_{.height = place.layer.in[1], .width = place.layer.in[2], .columns = 0},
        out_(place.batch_max * channels_),
        d_out_(out_.size()) {
    CHECK(!place.first);
    CHECK(channels_ % 16 == 0);
  }

  void forward(std::span<const float>, const float* in, std::size_t batch) override {
    shape_.columns = batch * channels_;
    column_sums(shape_, in, out_.data());
    for (std::size_t c = 0; c < shape_.columns; ++c) out_[c] /= pixels();
  }
  void backward(std::span<const float>, std::span<float>, const float*, float* d_in) override {
    for (std::size_t c = 0; c < shape_.columns; ++c) d_out_[c] /= pixels();
    for (std::size_t pixel = 0; pixel < shape_.pixels(); ++pixel)
      std::copy_n(d_out_.data(), shape_.columns, d_in + pixel * shape_.columns);
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  float pixels() const { return static_cast<float>(shape_.pixels()); }

  std::size_t channels_;
  PoolShape shape_;
  Floats64 out_, d_out_;
};

}  // namespace

MeanPool add_mean_pool(ModelBuilder& builder) {
  CHECK(builder.shape().size() == 3);
  builder.reshape({builder.shape()[0]});
  return {};
}

std::unique_ptr<CpuLayer> make_cpu(const MeanPool&, const CpuPlace& place) {
  return std::make_unique<CpuMeanPool>(place);
}

}  // namespace tessera
