// What group norm and ReLU do to activations [pixels][columns], where a column is a channel of a
// sample (see pool_kernels.h): y = scale x + shift per column, and its way back.
#pragma once

#include <cstddef>

#include "learn/pool_kernels.h"

namespace tessera {

// y = scale x + shift, and zero where that is below zero if `relu`.
void scale_and_shift(PoolShape shape, const float* x, const float* scale, const float* shift,
                     bool relu, float* y);
// Over pixels: sums of dy (d_shift) and of dy (x - mean) (d_scale).
void scale_and_shift_sums(PoolShape shape, const float* x, const float* dy, const float* mean,
                          float* d_shift, float* d_scale);
// dx = scale dy + slope x + offset. dx may be dy or x.
void scale_and_shift_gradient(PoolShape shape, const float* x, const float* dy,
                              PoolGradient gradient, float* dx);

// y = max(0, x), where a NaN stays one; `y` may be `x`.
void relu(std::size_t count, const float* x, float* y);
// dy becomes zero where y was cut off.
void relu_gradient(std::size_t count, const float* y, float* dy);

}  // namespace tessera
