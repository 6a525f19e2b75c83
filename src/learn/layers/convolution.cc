#include "learn/layers/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "learn/layers/cpu_convolution.h"
#include "learn/pool_kernels.h"

namespace tessera {
namespace {

// PyTorch's weights [outputs][inputs][taps] against the kernels' [taps][inputs][outputs].
template <typename Move>
void for_weights(const ConvShape& s, Move move) {
  const std::size_t taps = s.kernel * s.kernel;
  std::size_t torch = 0;
  for (std::size_t o = 0; o < s.outputs; ++o)
    for (std::size_t i = 0; i < s.inputs; ++i)
      for (std::size_t tap = 0; tap < taps; ++tap)
        move(torch++, (tap * s.inputs + i) * s.outputs + o);
}

}  // namespace

Convolution add_convolution(ModelBuilder& builder, std::string_view name,
                            const Convolution& wanted) {
  const std::vector<std::uint32_t> in = builder.shape();
  CHECK(in.size() == 3);
  CHECK(wanted.kernel % 2 == 1);
  Convolution made = wanted;
  made.inputs = in[0];
  const Initial initial = uniform(1 / std::sqrt(double{1} * in[0] * made.kernel * made.kernel));
  builder.parameter(fmt::format("{}.weight", name), {made.outputs, in[0], made.kernel, made.kernel},
                    initial);
  builder.parameter(fmt::format("{}.bias", name), {made.outputs}, initial);
  const auto strided = [&](std::uint32_t extent) {
    return (extent + made.stride - 1) / made.stride;
  };
  builder.reshape({made.outputs, strided(in[1]), strided(in[2])});
  return made;
}

std::unique_ptr<CpuLayer> make_cpu(const Convolution& convolution, const CpuPlace& place) {
  return std::make_unique<CpuConvolution>(convolution, place,
                                          /*in_place=*/false);
}

CpuConvolution::CpuConvolution(const Convolution& convolution, const CpuPlace& place, bool in_place)
    : shape_{.height = place.layer.in[1],
             .width = place.layer.in[2],
             .batch = place.batch_max,
             .inputs = convolution.inputs,
             .outputs = convolution.outputs,
             .kernel = convolution.kernel,
             .stride = convolution.stride},
      first_(place.first),
      weight_(place.offset(0)),
      bias_(place.offset(1)) {
  CHECK(shape_.outputs % 16 == 0);
  CHECK((first_ ? shape_.stride == 1 : shape_.inputs % 16 == 0));
  way_ = make_conv_way(shape_, first_, place.kernels);
  if (!first_) turned_.resize(shape_.weights());
  out_.resize(shape_.out_pixels() * place.batch_max * shape_.outputs);
  if (in_place) return;
  d_out_.resize(out_.size());
  sums_.resize(place.batch_max * shape_.outputs);
}

void CpuConvolution::forward(std::span<const float> parameters, const float* in,
                             std::size_t batch) {
  shape_.batch = batch;
  way_->forward(shape_, in, parameters.data() + weight_, parameters.data() + bias_, out_.data());
}

void CpuConvolution::backward(std::span<const float> parameters, std::span<float> gradient,
                              const float* in, float* d_in) {
  const PoolShape pixels{.height = shape_.out_height(),
                         .width = shape_.out_width(),
                         .columns = shape_.batch * shape_.outputs};
  column_sums(pixels, d_out(), sums_.data());
  backward(parameters, gradient, in, d_in, sums_.data());
}

void CpuConvolution::backward(std::span<const float> parameters, std::span<float> gradient,
                              const float* in, float* d_in, const float* sums) {
  float* const d_bias = gradient.data() + bias_;
  std::fill_n(d_bias, shape_.outputs, 0.0f);
  for (std::size_t c = 0; c < shape_.batch * shape_.outputs; ++c)
    d_bias[c % shape_.outputs] += sums[c];
  CHECK((!first_ || !d_in));
  if (d_in) turn_weights(shape_, parameters.data() + weight_, turned_.data());
  way_->backward(shape_, in, d_out(), turned_.data(), gradient.data() + weight_, d_in);
}

void CpuConvolution::arrange(std::span<const float> flat, std::span<float> working) const {
  for_weights(shape_, [&](std::size_t torch, std::size_t own) {
    working[weight_ + own] = flat[weight_ + torch];
  });
}

void CpuConvolution::restore(std::span<const float> working, std::span<float> flat) const {
  for_weights(shape_, [&](std::size_t torch, std::size_t own) {
    flat[weight_ + torch] = working[weight_ + own];
  });
}

}  // namespace tessera
