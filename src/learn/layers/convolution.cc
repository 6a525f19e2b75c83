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
  const std::size_t batch = place.batch_max;
  if (place.kernels.winograd && first_ && winograd_first_fits(shape_))
    winograd_first_.emplace(shape_);
  else if (place.kernels.winograd && !first_ && winograd_fits(shape_))
    winograd_.emplace(shape_, place.kernels.bf16);
  else if (place.kernels.bf16)
    bf16_.emplace(shape_, first_);
  if (!first_)
    turned_.resize(shape_.weights());
  else if (!winograd_first_)
    images_.assign(shape_.height * batch * (shape_.width + shape_.kernel - 1) * shape_.inputs, 0);
  out_.resize(shape_.out_pixels() * batch * shape_.outputs);
  if (in_place) return;
  d_out_.resize(out_.size());
  sums_.resize(batch * shape_.outputs);
}

void CpuConvolution::read_images(const float* images, std::size_t batch) {
  const std::size_t line = (shape_.width + shape_.kernel - 1) * shape_.inputs;
  // The zeros at both ends of a line stay; lines move when the batch changes its size.
  if (batch != shape_.batch) std::fill(images_.begin(), images_.end(), 0.0f);
  for (std::size_t n = 0; n < batch; ++n)
    for (std::size_t c = 0; c < shape_.inputs; ++c)
      for (std::size_t y = 0; y < shape_.height; ++y) {
        float* to = images_.data() + (y * batch + n) * line + shape_.kernel / 2 * shape_.inputs + c;
        for (std::size_t x = 0; x < shape_.width; ++x, to += shape_.inputs) *to = *images++;
      }
}

void CpuConvolution::forward(std::span<const float> parameters, const float* in,
                             std::size_t batch) {
  if (!images_.empty()) read_images(in, batch);
  shape_.batch = batch;
  const float* const weights = parameters.data() + weight_;
  const float* const bias = parameters.data() + bias_;
  if (winograd_first_)
    winograd_first(shape_, in, weights, bias, out_.data(), *winograd_first_);
  else if (winograd_)
    winograd(shape_, in, weights, bias, out_.data(), *winograd_);
  else if (first_ && bf16_)
    bf16::convolve_first(shape_, images_.data(), weights, bias, out_.data(), *bf16_);
  else if (first_)
    convolve_first(shape_, images_.data(), weights, bias, out_.data());
  else if (bf16_)
    bf16::convolve(shape_, in, weights, bias, out_.data(), *bf16_);
  else
    convolve(shape_, in, weights, bias, out_.data());
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
  float* const d_weights = gradient.data() + weight_;
  CHECK((!first_ || !d_in));
  if (d_in) turn_weights(shape_, parameters.data() + weight_, turned_.data());
  if (winograd_first_) return winograd_first_weights(shape_, d_out(), d_weights, *winograd_first_);
  if (winograd_)
    return winograd_backward(shape_, d_out(), turned_.data(), d_weights, d_in, *winograd_);
  if (bf16_) return backward_in_bf16(in, d_weights, d_in);
  if (first_)
    convolve_first_weights(shape_, images_.data(), d_out(), d_weights);
  else
    convolve_weights(shape_, in, d_out(), d_weights);
  if (d_in) convolve_inputs(shape_, d_out(), turned_.data(), d_in);
}

void CpuConvolution::backward_in_bf16(const float* in, float* d_weights, float* d_in) {
  if (first_)
    bf16::convolve_first_weights(shape_, images_.data(), d_out(), d_weights, *bf16_);
  else
    bf16::convolve_weights(shape_, in, d_out(), d_weights, *bf16_);
  if (d_in) bf16::convolve_inputs(shape_, d_out(), turned_.data(), d_in, *bf16_);
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
