#include "learn/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/winograd.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "learn/winograd-inl.h"
#include "learn/winograd_plan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Sums that fit the registers with two vectors of b and a broadcast beside them.
constexpr std::size_t kRows = kLanes == 16 ? 8 : 4;

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
  points_to_weights(s.inputs * s.outputs, step, space.weights.data(), d_weights);
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
