#include "learn/layers/conv_block.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "learn/layers/cpu_convolution.h"
#include "learn/layers/norm_columns.h"
#include "learn/pool_kernels.h"

namespace tessera {
namespace {

template <typename Kind>
bool is(std::span<const Layer> layers, std::size_t at) {
  return at < layers.size() && std::holds_alternative<Kind>(layers[at].kind);
}

NormColumns norm_of(std::span<const Layer> layers, const CpuPlace& place) {
  const auto& convolution = std::get<Convolution>(layers[0].kind);
  const std::size_t columns = place.batch_max * convolution.outputs;
  if (!is<GroupNorm>(layers, 1)) return NormColumns(convolution.outputs, columns);
  return NormColumns(std::get<GroupNorm>(layers[1].kind),
                     CpuPlace{place.model, layers[1], place.batch_max}, columns);
}

class ConvBlock final : public CpuLayer {
 public:
  ConvBlock(std::span<const Layer> layers, const CpuPlace& place)
      : convolution_(std::get<Convolution>(layers[0].kind), place,
                     /*in_place=*/true),
        norm_(norm_of(layers, place)) {
    set_batch(place.batch_max);
    for (Floats64* pooled : {&pooled_, &d_pooled_, &winner_x_})
      pooled->resize(shape_.pooled_pixels() * shape_.columns);
    winner_place_.resize(pooled_.size());
    sums_.resize(shape_.columns);
  }

  void arrange(std::span<const float> flat, std::span<float> working) const override {
    convolution_.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    convolution_.restore(working, flat);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    set_batch(batch);
    convolution_.forward(parameters, in, batch);
    const float* const x = convolution_.out();
    if (norm_.any()) norm_.measure(shape_, parameters, x);
    relu_pool(shape_, x, norm_.scale(), norm_.shift(), pooled_.data(), winners());
  }

  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    if (norm_.any()) {
      winner_sums(shape_, d_pooled_.data(), winners(), norm_.mean(), norm_.d_shift(),
                  norm_.d_scale());
      norm_.differentiate(shape_, parameters, gradient);
    }
    relu_pool_gradient(shape_, convolution_.d_out(), d_pooled_.data(), winners(), norm_.slopes(),
                       sums_.data());
    convolution_.backward(parameters, gradient, in, d_in, sums_.data());
  }

  const float* out() const override { return pooled_.data(); }
  float* d_out() override { return d_pooled_.data(); }

 private:
  void set_batch(std::size_t batch) {
    const ConvShape& conv = convolution_.shape();
    shape_ = {.height = conv.height, .width = conv.width, .columns = batch * conv.outputs};
  }
  Winners winners() { return {winner_x_.data(), winner_place_.data()}; }

  CpuConvolution convolution_;
  NormColumns norm_;
  PoolShape shape_;
  Floats64 pooled_, d_pooled_, winner_x_, sums_;
  std::vector<std::int32_t, LineAllocator<std::int32_t>> winner_place_;
};

}  // namespace

std::size_t conv_block_length(std::span<const Layer> layers, bool first) {
  if (!is<Convolution>(layers, 0)) return 0;
  const auto& convolution = std::get<Convolution>(layers[0].kind);
  const bool fits = convolution.outputs % 16 == 0 && convolution.stride == 1 &&
                    (first || convolution.inputs % 16 == 0);
  const std::size_t then = is<GroupNorm>(layers, 1) ? 2 : 1;
  const bool pooled = (is<Relu>(layers, then) && is<MaxPool>(layers, then + 1)) ||
                      (is<MaxPool>(layers, then) && is<Relu>(layers, then + 1));
  return fits && pooled ? then + 2 : 0;
}

std::unique_ptr<CpuLayer> make_conv_block(std::span<const Layer> layers, const CpuPlace& place) {
  return std::make_unique<ConvBlock>(layers, place);
}

}  // namespace tessera
