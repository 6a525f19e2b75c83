#include "learn/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/winograd.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "learn/winograd_plan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Capped, so that a multiple of 16 channels is a whole number of vectors on every CPU.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

template <std::size_t n>
using Int = std::integral_constant<std::size_t, n>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());
// Sums that fit the registers with two vectors of b and a broadcast beside them.
constexpr std::size_t kRows = kLanes == 16 ? 8 : 4;

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

// Weights [5][5][numbers], or their gradient, to the points.
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

// c[row][column] = sum over runs and k of a[row, k] b[k][column]. In a run k walks `a` and `b` by
// their steps; from run to run both jump.
struct Product {
  std::size_t rows, columns;
  const float* a;
  std::size_t a_row, a_step;
  const float* b;
  std::size_t b_step;
  float* c;
  std::size_t runs = 1, a_run = 0, b_run = 0;
};

// A tile of rows by vectors of sums stays in registers. counts(run) says how many k it has.
template <std::size_t rows, std::size_t vectors, typename Counts>
HWY_INLINE void multiply_tile(const Product& p, const float* first_a, const float* first_b,
                              float* c, Counts counts) {
  const Floats d;
  FloatVector sums[rows][vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (std::size_t run = 0; run < p.runs; ++run) {
    const float* HWY_RESTRICT a = first_a + run * p.a_run;
    const float* HWY_RESTRICT b = first_b + run * p.b_run;
    for (std::size_t k = counts(run); k > 0; --k, a += p.a_step, b += p.b_step) {
      FloatVector right[vectors];
      for (std::size_t v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto left = hn::Set(d, a[r * p.a_row]);
        for (std::size_t v = 0; v < vectors; ++v)
          sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v)
      hn::StoreU(sums[r][v], d, c + r * p.columns + v * kLanes);
}

template <std::size_t vectors, std::size_t rows, typename Counts>
HWY_INLINE void multiply_rows(const Product& p, std::size_t row, std::size_t column,
                              Counts counts) {
  if (p.rows - row >= rows)
    multiply_tile<rows, vectors>(p, p.a + row * p.a_row, p.b + column,
                                 p.c + row * p.columns + column, counts);
  else if constexpr (rows > 1)
    multiply_rows<vectors, rows - 1>(p, row, column, counts);
}

template <typename Counts>
HWY_INLINE void multiply(const Product& p, Counts counts) {
  std::size_t column = 0;
  for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes)
    for (std::size_t row = 0; row < p.rows; row += kRows)
      multiply_rows<2, kRows>(p, row, column, counts);
  for (; column < p.columns; column += kLanes)
    for (std::size_t row = 0; row < p.rows; row += kRows)
      multiply_rows<1, kRows>(p, row, column, counts);
}

HWY_INLINE void multiply_block(const WinogradPlan& plan, const BlockProduct& p,
                               WinogradSpace& space) {
  if (space.in_bf16) return multiply_block_bf16(plan, p, space);
  for (std::size_t point = 0; point < kPoints * kPoints; ++point)
    multiply({.rows = p.rows,
              .columns = p.to,
              .a = p.a + point * p.a_step,
              .a_row = p.from,
              .a_step = 1,
              .b = space.weights.data() + point * plan.weights_step,
              .b_step = p.to,
              .c = p.c + point * p.c_step},
             [&](std::size_t) { return p.from; });
}

void Winograd(const ConvShape& s, const float* in, const float* weights, const float* bias,
              float* out, WinogradSpace& space) {
  const Floats d;
  const WinogradPlan plan(s);
  const std::size_t step = plan.weights_step;
  weights_to_points(s.inputs * s.outputs, step, weights, false, space.weights.data());
  if (space.in_bf16) pair_weights(plan, s.inputs, s.outputs, space);
  for (std::size_t i = 0; i < plan.out; ++i) space.bias[i] = bias ? bias[i % s.outputs] : 0;
  for (std::size_t block = 0; block < plan.block_count; ++block) {
    float* const at_points = space.in.data() + (space.in_bf16 ? 0 : block * plan.in_block());
    for_tiles(plan, block, [&](std::size_t y, std::size_t x, std::size_t place) {
      const Square<const float, kPoints> from(s, in, plan.in, space.zeros.data(), y, x,
                                              kKernel / 2);
      float* const to = at_points + place * plan.in;
      transform_squares<InputTransform>(
          plan.in,
          [&](std::size_t row, std::size_t column, std::size_t number) {
            return hn::LoadU(d, from.pixels[row * kPoints + column] + number);
          },
          [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
            hn::StoreU(value, d, to + (row * kPoints + column) * plan.in_step + number);
          });
    });
    const BlockProduct product{.rows = plan.tiles_of(block) * s.batch,
                               .from = s.inputs,
                               .to = s.outputs,
                               .a = at_points,
                               .a_step = plan.in_step,
                               .c = space.block.data(),
                               .c_step = plan.out_step};
    if (space.in_bf16) keep_block_bf16(s, plan, block, product, space.kept_in);
    multiply_block(plan, product, space);
    for_tiles(plan, block, [&](std::size_t y, std::size_t x, std::size_t place) {
      const Square<float, kOut> to(s, out, plan.out, space.nowhere.data(), y, x, 0);
      const float* const from = space.block.data() + place * plan.out;
      transform_squares<OutputTransform>(
          plan.out,
          [&](std::size_t row, std::size_t column, std::size_t number) {
            return hn::LoadU(d, from + (row * kPoints + column) * plan.out_step + number);
          },
          [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
            const auto sum = hn::Add(value, hn::LoadU(d, space.bias.data() + number));
            hn::StoreU(sum, d, to.pixels[row * kOut + column] + number);
          });
    });
  }
}

// dw at each point: rows are input channels, k runs over the rows of all blocks.
HWY_INLINE void multiply_weights(const ConvShape& s, const WinogradPlan& plan,
                                 WinogradSpace& space) {
  if (space.in_bf16) return multiply_weights_bf16(s, plan, space);
  for (std::size_t point = 0; point < kPoints * kPoints; ++point)
    multiply({.rows = s.inputs,
              .columns = s.outputs,
              .a = space.in.data() + point * plan.in_step,
              .a_row = 1,
              .a_step = s.inputs,
              .b = space.d_out.data() + point * plan.out_step,
              .b_step = s.outputs,
              .c = space.weights.data() + point * plan.weights_step,
              .runs = plan.block_count,
              .a_run = plan.in_block(),
              .b_run = plan.out_block()},
             [&](std::size_t block) { return plan.tiles_of(block) * s.batch; });
}

void WinogradBackward(const ConvShape& s, const float* d_out, const float* turned, float* d_weights,
                      float* d_in, WinogradSpace& space) {
  const Floats d;
  const WinogradPlan plan(s);
  const std::size_t step = plan.weights_step;
  if (d_in) {
    weights_to_points(s.inputs * s.outputs, step, turned, true, space.weights.data());
    if (space.in_bf16) pair_weights(plan, s.outputs, s.inputs, space);
    std::memset(d_in, 0, s.pixels() * plan.in * sizeof(float));
    std::fill(space.nowhere.begin(), space.nowhere.end(), 0.0f);
  }
  for (std::size_t block = 0; block < plan.block_count; ++block) {
    float* const at_points = space.d_out.data() + (space.in_bf16 ? 0 : block * plan.out_block());
    for_tiles(plan, block, [&](std::size_t y, std::size_t x, std::size_t place) {
      const Square<const float, kOut> from(s, d_out, plan.out, space.zeros.data(), y, x, 0);
      float* const to = at_points + place * plan.out;
      transform_squares<OutputAdjoint>(
          plan.out,
          [&](std::size_t row, std::size_t column, std::size_t number) {
            return hn::LoadU(d, from.pixels[row * kOut + column] + number);
          },
          [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
            hn::StoreU(value, d, to + (row * kPoints + column) * plan.out_step + number);
          });
    });
    const BlockProduct product{.rows = plan.tiles_of(block) * s.batch,
                               .from = s.outputs,
                               .to = s.inputs,
                               .a = at_points,
                               .a_step = plan.out_step,
                               .c = space.block.data(),
                               .c_step = plan.in_step};
    if (space.in_bf16) keep_block_bf16(s, plan, block, product, space.kept_d_out);
    if (!d_in) continue;
    multiply_block(plan, product, space);
    for_tiles(plan, block, [&](std::size_t y, std::size_t x, std::size_t place) {
      const Square<float, kPoints> to(s, d_in, plan.in, space.nowhere.data(), y, x, kKernel / 2);
      const float* const from = space.block.data() + place * plan.in;
      transform_squares<InputAdjoint>(
          plan.in,
          [&](std::size_t row, std::size_t column, std::size_t number) {
            return hn::LoadU(d, from + (row * kPoints + column) * plan.in_step + number);
          },
          [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
            float* const sum = to.pixels[row * kPoints + column] + number;
            hn::StoreU(hn::Add(hn::LoadU(d, sum), value), d, sum);
          });
    });
  }
  multiply_weights(s, plan, space);
  transform_squares<WeightAdjoint>(
      s.inputs * s.outputs,
      [&](std::size_t row, std::size_t column, std::size_t number) {
        return hn::LoadU(d, space.weights.data() + (row * kPoints + column) * step + number);
      },
      [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
        hn::StoreU(value, d, d_weights + (row * kKernel + column) * s.inputs * s.outputs + number);
      });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Winograd);
HWY_EXPORT(WinogradBackward);

bool winograd_fits(const ConvShape& s) {
  return s.kernel == kKernel && s.stride == 1 && s.inputs % 16 == 0 && s.outputs % 16 == 0;
}

WinogradSpace::WinogradSpace(const ConvShape& largest, bool bf16) : in_bf16(bf16) {
  const auto larger = [](auto& numbers, std::size_t size) {
    numbers.resize(std::max(numbers.size(), size));
  };
  // A smaller batch may have more tiles in a block.
  for (ConvShape s = largest; s.batch > 0; --s.batch) {
    const WinogradPlan plan(s);
    larger(weights, kPoints * kPoints * plan.weights_step);
    larger(in, (in_bf16 ? 1 : plan.block_count) * plan.in_block());
    larger(d_out, (in_bf16 ? 1 : plan.block_count) * plan.out_block());
    larger(block, std::max(plan.in_block(), plan.out_block()));
    larger(bias, plan.out);
    larger(zeros, std::max(plan.in, plan.out));
    larger(nowhere, zeros.size());
    if (!in_bf16) continue;
    larger(paired, kPoints * kPoints * plan.paired_step());
    larger(rounded, plan.block_tiles * std::max(plan.in, plan.out));
    larger(kept_in, kPoints * kPoints * plan.pairs_step(s.inputs, s.batch));
    larger(kept_d_out, kPoints * kPoints * plan.pairs_step(s.outputs, s.batch));
  }
}

void winograd(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out, WinogradSpace& space) {
  HWY_DYNAMIC_DISPATCH(Winograd)(shape, in, weights, bias, out, space);
}

void winograd_backward(const ConvShape& shape, const float* d_out, const float* turned,
                       float* d_weights, float* d_in, WinogradSpace& space) {
  HWY_DYNAMIC_DISPATCH(WinogradBackward)(shape, d_out, turned, d_weights, d_in, space);
}

}  // namespace tessera
#endif  // HWY_ONCE
