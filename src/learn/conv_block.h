// One stage of a convolutional net on the CPU: convolution, group norm if there is one, ReLU, 2x2
// max pooling; forward and backward for a batch, in memory allocated once. The formulas:
//
//   x = in * w + b                       per group of channels and sample, over pixels:
//   y = gamma (x - mean) r + beta        r = 1 / sqrt(variance + 1e-5)
//   pooled = maxpool(relu(y))
//
//   dx = r gamma dy - r mean(gamma dy) - r xhat mean(gamma dy xhat),   xhat = (x - mean) r
//
// dy is zero except where a pixel won its pool, so both means come from the pooled quarter alone,
// and dx is one more pass over x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "learn/conv_kernels.h"
#include "learn/model.h"
#include "learn/pool_kernels.h"

namespace tessera {

// Vectors that begin at a cache line: a load that straddles two lines costs two.
template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};
using Floats64 = std::vector<float, LineAllocator<float>>;

class ConvBlock {
 public:
  // The run of layers at the front of `layers` that makes a block, or nothing. `taken` becomes its
  // length.
  static std::unique_ptr<ConvBlock> take(const Model& model, std::span<const Layer> layers,
                                         bool first, std::size_t batch_max, std::size_t& taken);

  // Samples as PyTorch has them, [batch][channels][height][width], into the first block.
  void read_images(std::span<const float> images, std::size_t batch);
  // The other blocks read what the one before pooled.
  void forward(std::span<const float> parameters, const float* in, std::size_t batch);
  // Needs d_pooled(); writes this block's part of the gradient and, unless null, d_in.
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in);

  const float* pooled() const { return pooled_.data(); }
  float* d_pooled() { return d_pooled_.data(); }
  // Pooled values as PyTorch flattens them, [batch][channels][pixels], and back.
  void flatten(float* rows) const;
  void unflatten(const float* rows);

  // PyTorch's weights [outputs][inputs][kernel][kernel] to the kernels' layout and back.
  void arrange(std::span<const float> flat, std::span<float> working) const;
  void restore(std::span<const float> working, std::span<float> flat) const;

 private:
  ConvBlock(const Model& model, const Layer& convolution, const Layer* norm, bool first,
            std::size_t batch_max);
  void resize(std::size_t batch);
  void normalize(std::span<const float> parameters);
  void norm_gradient(std::span<const float> parameters, std::span<float> gradient);

  bool first_ = false;
  ConvShape conv_{};
  PoolShape pool_{};
  std::size_t groups_ = 0;                                    // None: there is no norm.
  std::size_t weight_ = 0, bias_ = 0, gamma_ = 0, beta_ = 0;  // Offsets in the flat vector.

  Floats64 images_, x_, pooled_, d_pooled_, winner_x_, turned_;
  std::vector<std::int32_t, LineAllocator<std::int32_t>> winner_place_;
  // One number per column, that is per sample and channel.
  Floats64 mean_, inverse_, scale_, shift_, slope_, offset_, sums_, more_sums_;
};

}  // namespace tessera
