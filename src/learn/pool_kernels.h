// What stands between two convolutions, in one pass each way: group norm (as a scale and a shift
// per sample and channel), ReLU and 2x2 max pooling. Activations are [height][width][columns],
// where a column is a channel of a sample: everything here happens per column, so one line of code
// serves any batch and any number of channels. `columns` must be a multiple of 16.
//
//   y = max(0, scale x + shift)     pooled = max of y over 2x2 pixels
//
// Without a norm, scale is 1 and shift 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

struct PoolShape {
  std::size_t height = 0, width = 0;  // Before pooling; a last odd row or column is dropped.
  std::size_t columns = 0;

  std::size_t pixels() const { return height * width; }
  std::size_t pooled_pixels() const { return (height / 2) * (width / 2); }
};

// What the way back needs to know of a pooled value: the x it came from and which of its four
// pixels that was (reading order), or kNobody when ReLU cut it off.
struct Winners {
  float* x = nullptr;
  std::int32_t* place = nullptr;
};
constexpr std::int32_t kNobody = 4;

// sums[c] = sum over pixels of x, and of (x - mean[c])^2.
void column_sums(PoolShape shape, const float* x, float* sums);
void column_squares(PoolShape shape, const float* x, const float* mean, float* sums);

void relu_pool(PoolShape shape, const float* x, const float* scale, const float* shift,
               float* pooled, Winners winners);

// Over the pixels that won: sums of dy (d_shift) and of dy (x - mean) (d_scale), dy being the
// gradient with respect to y.
void winner_sums(PoolShape shape, const float* d_pooled, Winners winners, const float* mean,
                 float* d_shift, float* d_scale);

// x <- dx = scale dy + slope x + offset, dy being d_pooled where a pixel won and zero elsewhere;
// sums[c] = sum of dx over pixels. In place: nobody needs x after this.
struct PoolGradient {
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* offset = nullptr;
};
void relu_pool_gradient(PoolShape shape, float* x, const float* d_pooled, Winners winners,
                        PoolGradient gradient, float* sums);

}  // namespace tessera
