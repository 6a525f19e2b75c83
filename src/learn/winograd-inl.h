// What winograd.cc and winograd_first.cc share: the transforms. Included once per instruction set,
// after highway.h.
#if defined(TESSERA_LEARN_WINOGRAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_LEARN_WINOGRAD_INL_H
#undef TESSERA_LEARN_WINOGRAD_INL_H
#else
#define TESSERA_LEARN_WINOGRAD_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "learn/winograd_plan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Capped, so that a multiple of 16 channels is a whole number of vectors on every CPU.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());

HWY_INLINE FloatVector times(float factor, FloatVector x) {
  return hn::Mul(hn::Set(Floats(), factor), x);
}
HWY_INLINE FloatVector add_times(FloatVector sum, float factor, FloatVector x) {
  return hn::MulAdd(hn::Set(Floats(), factor), x, sum);
}

// The transforms along one axis. In and out may not be the same.

struct InputTransform {  // Bt.
  static constexpr std::size_t kIn = kPoints, kOut = kPoints;
  static HWY_INLINE void run(const FloatVector* x, FloatVector* t) {
    t[0] = add_times(hn::Sub(x[0], x[6]), 5.25f, hn::Sub(x[4], x[2]));
    t[7] = add_times(hn::Sub(x[7], x[1]), 5.25f, hn::Sub(x[3], x[5]));
    const auto even1 = add_times(hn::Add(x[2], x[6]), -4.25f, x[4]);
    const auto odd1 = add_times(hn::Add(x[1], x[5]), -4.25f, x[3]);
    t[1] = hn::Add(even1, odd1);
    t[2] = hn::Sub(even1, odd1);
    const auto even2 = add_times(add_times(x[6], 0.25f, x[2]), -1.25f, x[4]);
    const auto odd2 = add_times(add_times(times(0.5f, x[1]), 2, x[5]), -2.5f, x[3]);
    t[3] = hn::Add(even2, odd2);
    t[4] = hn::Sub(even2, odd2);
    const auto even3 = add_times(add_times(x[6], 4, x[2]), -5, x[4]);
    const auto odd3 = add_times(add_times(times(2, x[1]), 0.5f, x[5]), -2.5f, x[3]);
    t[5] = hn::Add(even3, odd3);
    t[6] = hn::Sub(even3, odd3);
  }
};

struct InputAdjoint {  // B.
  static constexpr std::size_t kIn = kPoints, kOut = kPoints;
  static HWY_INLINE void run(const FloatVector* t, FloatVector* x) {
    const auto even1 = hn::Add(t[1], t[2]), odd1 = hn::Sub(t[1], t[2]);
    const auto even2 = hn::Add(t[3], t[4]), odd2 = hn::Sub(t[3], t[4]);
    const auto even3 = hn::Add(t[5], t[6]), odd3 = hn::Sub(t[5], t[6]);
    x[0] = t[0];
    x[1] = add_times(add_times(hn::Sub(odd1, t[7]), 0.5f, odd2), 2, odd3);
    x[2] = add_times(add_times(add_times(even1, 0.25f, even2), 4, even3), -5.25f, t[0]);
    x[3] = add_times(add_times(times(-2.5f, hn::Add(odd2, odd3)), -4.25f, odd1), 5.25f, t[7]);
    x[4] = add_times(add_times(add_times(times(-1.25f, even2), -5, even3), -4.25f, even1), 5.25f,
                     t[0]);
    x[5] = add_times(add_times(add_times(odd1, 2, odd2), 0.5f, odd3), -5.25f, t[7]);
    x[6] = hn::Sub(hn::Add(hn::Add(even1, even2), even3), t[0]);
    x[7] = t[7];
  }
};

struct WeightTransform {  // G.
  static constexpr std::size_t kIn = kKernel, kOut = kPoints;
  static HWY_INLINE void run(const FloatVector* w, FloatVector* t) {
    const auto even1 = times(-2.0f / 9, hn::Add(hn::Add(w[0], w[4]), w[2]));
    const auto odd1 = times(-2.0f / 9, hn::Add(w[1], w[3]));
    const auto even2 = times(1.0f / 90, add_times(add_times(w[0], 4, w[2]), 16, w[4]));
    const auto odd2 = times(1.0f / 45, add_times(w[1], 4, w[3]));
    const auto even3 = times(2.0f / 45, add_times(add_times(w[4], 4, w[2]), 16, w[0]));
    const auto odd3 = times(4.0f / 45, add_times(w[3], 4, w[1]));
    t[0] = w[0];
    t[1] = hn::Add(even1, odd1);
    t[2] = hn::Sub(even1, odd1);
    t[3] = hn::Add(even2, odd2);
    t[4] = hn::Sub(even2, odd2);
    t[5] = hn::Add(even3, odd3);
    t[6] = hn::Sub(even3, odd3);
    t[7] = w[4];
  }
};

struct WeightAdjoint {  // Gt.
  static constexpr std::size_t kIn = kPoints, kOut = kKernel;
  static HWY_INLINE void run(const FloatVector* t, FloatVector* w) {
    const auto even1 = times(-2.0f / 9, hn::Add(t[1], t[2]));
    const auto odd1 = times(-2.0f / 9, hn::Sub(t[1], t[2]));
    const auto even2 = times(1.0f / 90, hn::Add(t[3], t[4]));
    const auto odd2 = times(1.0f / 45, hn::Sub(t[3], t[4]));
    const auto even3 = times(2.0f / 45, hn::Add(t[5], t[6]));
    const auto odd3 = times(4.0f / 45, hn::Sub(t[5], t[6]));
    w[0] = add_times(hn::Add(hn::Add(t[0], even1), even2), 16, even3);
    w[1] = add_times(hn::Add(odd1, odd2), 4, odd3);
    w[2] = add_times(even1, 4, hn::Add(even2, even3));
    w[3] = add_times(hn::Add(odd1, odd3), 4, odd2);
    w[4] = add_times(hn::Add(hn::Add(t[7], even1), even3), 16, even2);
  }
};

struct OutputTransform {  // At.
  static constexpr std::size_t kIn = kPoints, kOut = tessera::kOut;
  static HWY_INLINE void run(const FloatVector* t, FloatVector* y) {
    const auto even1 = hn::Add(t[1], t[2]), odd1 = hn::Sub(t[1], t[2]);
    const auto even2 = hn::Add(t[3], t[4]), odd2 = hn::Sub(t[3], t[4]);
    const auto even3 = hn::Add(t[5], t[6]), odd3 = hn::Sub(t[5], t[6]);
    y[0] = hn::Add(hn::Add(t[0], even1), hn::Add(even2, even3));
    y[1] = add_times(add_times(odd1, 2, odd2), 0.5f, odd3);
    y[2] = add_times(add_times(even1, 4, even2), 0.25f, even3);
    y[3] = add_times(add_times(hn::Add(t[7], odd1), 8, odd2), 0.125f, odd3);
  }
};

struct OutputAdjoint {  // A.
  static constexpr std::size_t kIn = tessera::kOut, kOut = kPoints;
  static HWY_INLINE void run(const FloatVector* y, FloatVector* t) {
    const auto even1 = hn::Add(y[0], y[2]), odd1 = hn::Add(y[1], y[3]);
    const auto even2 = add_times(y[0], 4, y[2]), odd2 = add_times(times(2, y[1]), 8, y[3]);
    const auto even3 = add_times(y[0], 0.25f, y[2]);
    const auto odd3 = add_times(times(0.5f, y[1]), 0.125f, y[3]);
    t[0] = y[0];
    t[1] = hn::Add(even1, odd1);
    t[2] = hn::Sub(even1, odd1);
    t[3] = hn::Add(even2, odd2);
    t[4] = hn::Sub(even2, odd2);
    t[5] = hn::Add(even3, odd3);
    t[6] = hn::Sub(even3, odd3);
    t[7] = y[3];
  }
};

// Both axes of `numbers` squares side by side: load(row, column, number) gives a vector, store(row,
// column, number, vector) takes one.
template <typename Transform, typename Load, typename Store>
HWY_INLINE void transform_squares(std::size_t numbers, Load load, Store store) {
  constexpr std::size_t kIn = Transform::kIn, kOut = Transform::kOut;
  for (std::size_t number = 0; number < numbers; number += kLanes) {
    FloatVector half[kOut][kIn];
    for (std::size_t column = 0; column < kIn; ++column) {
      FloatVector from[kIn], to[kOut];
      for (std::size_t row = 0; row < kIn; ++row) from[row] = load(row, column, number);
      Transform::run(from, to);
      for (std::size_t row = 0; row < kOut; ++row) half[row][column] = to[row];
    }
    for (std::size_t row = 0; row < kOut; ++row) {
      FloatVector to[kOut];
      Transform::run(half[row], to);
      for (std::size_t column = 0; column < kOut; ++column) store(row, column, number, to[column]);
    }
  }
}

// Where the pixels of a square of an image begin; those outside it begin at `outside`.
template <typename Float, std::size_t side>
struct Square {
  Float* pixels[side * side];

  HWY_INLINE Square(const ConvShape& s, Float* image, std::size_t numbers, Float* outside,
                    std::size_t y, std::size_t x, std::size_t pad) {
    for (std::size_t i = 0; i < side * side; ++i) {
      // Left of the image and above it these wrap around to large numbers.
      const std::size_t at_y = y + i / side - pad, at_x = x + i % side - pad;
      const bool inside = at_y < s.height && at_x < s.width;
      pixels[i] = inside ? image + (at_y * s.width + at_x) * numbers : outside;
    }
  }
};

// Calls body(y, x, place in the block) for the tiles of a block.
template <typename Body>
HWY_INLINE void for_tiles(const WinogradPlan& plan, std::size_t block, Body body) {
  for (std::size_t i = 0; i < plan.tiles_of(block); ++i) {
    const std::size_t tile = block * plan.block_tiles + i;
    body(tile / plan.across * kOut, tile % plan.across * kOut, i);
  }
}

// Weights [5][5][numbers] to the points.
HWY_INLINE void weights_to_points(std::size_t numbers, std::size_t step, const float* weights,
                                  bool turned, float* points) {
  const Floats d;
  transform_squares<WeightTransform>(
      numbers,
      [&](std::size_t row, std::size_t column, std::size_t number) {
        const std::size_t tap = row * kKernel + column;
        const std::size_t from = turned ? kKernel * kKernel - 1 - tap : tap;
        return hn::LoadU(d, weights + from * numbers + number);
      },
      [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
        hn::StoreU(value, d, points + (row * kPoints + column) * step + number);
      });
}

// The gradient of the weights at the points to that of the weights themselves.
HWY_INLINE void points_to_weights(std::size_t numbers, std::size_t step, const float* points,
                                  float* weights) {
  const Floats d;
  transform_squares<WeightAdjoint>(
      numbers,
      [&](std::size_t row, std::size_t column, std::size_t number) {
        return hn::LoadU(d, points + (row * kPoints + column) * step + number);
      },
      [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
        hn::StoreU(value, d, weights + (row * kKernel + column) * numbers + number);
      });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TESSERA_LEARN_WINOGRAD_INL_H
