#include "learn/layers/max_pool.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"
#include "learn/pool_kernels.h"

namespace tessera {
namespace {

class CpuMaxPool final : public CpuLayer {
 public:
  explicit CpuMaxPool(const CpuPlace& place)
      : channels_(place.layer.in[0]),
        shape_{.height = place.layer.in[1], .width = place.layer.in[2], .columns = 0},
        out_(place.batch_max * channels_ * shape_.pooled_pixels()),
        d_out_(out_.size()),
        winner_(out_.size()) {
    CHECK(!place.first);
  }

  void forward(std::span<const float>, const float* in, std::size_t batch) override {
    shape_.columns = batch * channels_;
    for (std::size_t to = 0; to < shape_.pooled_pixels() * shape_.columns; ++to) {
      std::size_t best = corner(to);
      // The first of equals wins, and a NaN is passed on: as PyTorch does.
      for (const std::size_t step : {std::size_t{1}, shape_.width, shape_.width + 1}) {
        const std::size_t other = corner(to) + step * shape_.columns;
        if (in[other] > in[best] || std::isnan(in[other])) best = other;
      }
      out_[to] = in[best];
      winner_[to] = best;
    }
  }
  void backward(std::span<const float>, std::span<float>, const float*, float* d_in) override {
    std::fill_n(d_in, shape_.pixels() * shape_.columns, 0.0f);
    for (std::size_t to = 0; to < shape_.pooled_pixels() * shape_.columns; ++to)
      d_in[winner_[to]] = d_out_[to];
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  // Of the four pixels that make pooled value `to`, where the first lies.
  std::size_t corner(std::size_t to) const {
    const std::size_t pixel = to / shape_.columns, across = shape_.width / 2;
    return (2 * (pixel / across) * shape_.width + 2 * (pixel % across)) * shape_.columns +
           to % shape_.columns;
  }

  std::size_t channels_;
  PoolShape shape_;
  Floats64 out_, d_out_;
  std::vector<std::size_t> winner_;  // Where in the input each output comes from.
};

}  // namespace

MaxPool add_max_pool(ModelBuilder& builder) {
  const std::vector<std::uint32_t> in = builder.shape();
  CHECK(in.size() == 3);
  builder.reshape({in[0], in[1] / 2, in[2] / 2});
  return {};
}

std::unique_ptr<CpuLayer> make_cpu(const MaxPool&, const CpuPlace& place) {
  return std::make_unique<CpuMaxPool>(place);
}

}  // namespace tessera
