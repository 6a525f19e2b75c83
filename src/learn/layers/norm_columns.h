// Group norm (group_norm.h) as y = scale x + shift, one pair per column, that is per sample and
// channel; a group is a run of neighbouring columns. Shared by the layer and by the convolution
// block.
#pragma once

#include <cstddef>
#include <span>

#include "learn/layers/cpu_layer.h"
#include "learn/pool_kernels.h"

namespace tessera {

class NormColumns {
 public:
  NormColumns(std::size_t channels,
              std::size_t columns_max);  // No norm: scale 1, shift 0.
  NormColumns(const GroupNorm& norm, const CpuPlace& place, std::size_t columns_max);

  bool any() const { return groups_ > 0; }
  // Scale and shift of x.
  void measure(PoolShape shape, std::span<const float> parameters, const float* x);
  // From d_shift() and d_scale(), the sums over pixels of dy and of dy (x - mean): the gradients of
  // gamma and beta, and dx = scale dy + slope x + offset.
  void differentiate(PoolShape shape, std::span<const float> parameters, std::span<float> gradient);

  const float* mean() const { return mean_.data(); }
  const float* scale() const { return scale_.data(); }
  const float* shift() const { return shift_.data(); }
  PoolGradient slopes() const { return {scale_.data(), slope_.data(), offset_.data()}; }
  float* d_shift() { return sums_.data(); }
  float* d_scale() { return more_sums_.data(); }

 private:
  std::size_t channels_, groups_ = 0;
  std::size_t gamma_ = 0, beta_ = 0;  // Offsets in the flat vector.
  Floats64 mean_, inverse_, scale_, shift_, slope_, offset_, sums_, more_sums_;
};

}  // namespace tessera
