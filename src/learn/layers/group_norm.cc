#include "learn/layers/group_norm.h"

#include <fmt/format.h>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"
#include "learn/layers/norm_columns.h"
#include "learn/norm_kernels.h"

namespace tessera {
namespace {

class CpuGroupNorm final : public CpuLayer {
 public:
  CpuGroupNorm(const GroupNorm& norm, const CpuPlace& place)
      : channels_(norm.channels),
        relu_(place.relu),
        shape_{.height = place.layer.in[1], .width = place.layer.in[2], .columns = 0},
        norm_(norm, place, place.batch_max * norm.channels),
        out_(shape_.pixels() * place.batch_max * norm.channels),
        d_out_(out_.size()) {
    CHECK(!place.first);
    CHECK(channels_ % 16 == 0);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    shape_.columns = batch * channels_;
    norm_.measure(shape_, parameters, in);
    scale_and_shift(shape_, in, norm_.scale(), norm_.shift(), relu_, out_.data());
  }
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    if (relu_) relu_gradient(shape_.pixels() * shape_.columns, out_.data(), d_out_.data());
    scale_and_shift_sums(shape_, in, d_out_.data(), norm_.mean(), norm_.d_shift(), norm_.d_scale());
    norm_.differentiate(shape_, parameters, gradient);
    if (d_in) scale_and_shift_gradient(shape_, in, d_out_.data(), norm_.slopes(), d_in);
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  std::size_t channels_;
  bool relu_;
  PoolShape shape_;
  NormColumns norm_;
  Floats64 out_, d_out_;
};

}  // namespace

GroupNorm add_group_norm(ModelBuilder& builder, std::string_view name, std::uint32_t groups) {
  CHECK(builder.shape().size() == 3);
  const std::uint32_t channels = builder.shape()[0];
  CHECK(channels % groups == 0);
  builder.parameter(fmt::format("{}.weight", name), {channels}, constant(1));
  builder.parameter(fmt::format("{}.bias", name), {channels}, constant(0));
  return {.channels = channels, .groups = groups};
}

std::unique_ptr<CpuLayer> make_cpu(const GroupNorm& norm, const CpuPlace& place) {
  return std::make_unique<CpuGroupNorm>(norm, place);
}

}  // namespace tessera
