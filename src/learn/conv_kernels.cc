#include "learn/conv_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/conv_kernels.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "learn/conv_taps.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Capped, so that a multiple of 16 channels is a whole number of vectors on every CPU.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

template <int n>
using Int = std::integral_constant<int, n>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Floats()));
// Sums that fit the registers with two vectors of b and a broadcast beside them: 32 registers come
// with vectors of 16, sixteen with smaller ones.
constexpr int kRows = kLanes == 16 ? 8 : 4;

// A matrix walked by strides: element (row, k) is data[row * row_step + k * k_step].
struct Strided {
  const float* data;
  std::size_t row_step, k_step;
};

template <int rows, int vectors>
struct Tile {
  FloatVector sums[rows][vectors];

  // Written out: GCC makes its own for the baseline's instructions, not this target's.
  HWY_INLINE Tile() {}
  HWY_INLINE void fill(const float* values) {
    const Floats d;
    for (int v = 0; v < vectors; ++v) {
      const auto value = values ? hn::LoadU(d, values + v * kLanes) : hn::Zero(d);
      for (int r = 0; r < rows; ++r) sums[r][v] = value;
    }
  }
  HWY_INLINE void load(const float* from, std::size_t row_step) {
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        sums[r][v] =
            hn::LoadU(Floats(), from + static_cast<std::size_t>(r) * row_step + v * kLanes);
  }
  HWY_INLINE void store(float* to, std::size_t row_step) const {
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v)
        hn::StoreU(sums[r][v], Floats(), to + static_cast<std::size_t>(r) * row_step + v * kLanes);
  }
  HWY_INLINE void accumulate(Strided a, const float* HWY_RESTRICT b, std::size_t b_step,
                             std::size_t count) {
    const Floats d;
    const float* HWY_RESTRICT left = a.data;
    for (std::size_t k = 0; k < count; ++k, left += a.k_step, b += b_step) {
      FloatVector right[vectors];
      for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
      for (int r = 0; r < rows; ++r) {
        const auto value = hn::Set(d, left[static_cast<std::size_t>(r) * a.row_step]);
        for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(value, right[v], sums[r][v]);
      }
    }
  }
};

// Calls body(first row, Int<rows in the tile>): whole tiles first, then what is left as one.
template <typename Body>
HWY_INLINE void for_rows(std::size_t count, Body body) {
  std::size_t row = 0;
  for (; row + kRows <= count; row += kRows) body(row, Int<kRows>());
  switch (count - row) {
    case 7:
      return body(row, Int<7>());
    case 6:
      return body(row, Int<6>());
    case 5:
      return body(row, Int<5>());
    case 4:
      return body(row, Int<4>());
    case 3:
      return body(row, Int<3>());
    case 2:
      return body(row, Int<2>());
    case 1:
      return body(row, Int<1>());
  }
}

// Calls body(first column, Int<vectors in the tile>) and returns the first column left over.
// Columns are left over by sixteens on every CPU: their sums are rounded otherwise than a vector's.
template <typename Body>
HWY_INLINE std::size_t for_columns(std::size_t count, Body body) {
  const std::size_t whole = count / 16 * 16;
  std::size_t column = 0;
  for (; column + 2 * kLanes <= whole; column += 2 * kLanes) body(column, Int<2>());
  for (; column + kLanes <= whole; column += kLanes) body(column, Int<1>());
  return column;
}

void Convolve(const ConvShape& s, const float* in, const float* weights, const float* bias,
              float* out) {
  const std::size_t pad = s.kernel / 2, across_all = s.out_width();
  for (std::size_t pixel = 0; pixel < s.out_pixels(); ++pixel) {
    const std::size_t y = pixel / across_all * s.stride, x = pixel % across_all * s.stride;
    const Taps down(y, s.height, s.kernel), across(x, s.width, s.kernel);
    for_columns(s.outputs, [&](std::size_t column, auto vectors) {
      for_rows(s.batch, [&](std::size_t sample, auto rows) {
        Tile<rows(), vectors()> tile;
        tile.fill(bias ? bias + column : nullptr);
        for (std::size_t ky = down.first; ky < down.last; ++ky)
          for (std::size_t kx = across.first; kx < across.last; ++kx) {
            const std::size_t from = (y + ky - pad) * s.width + x + kx - pad;
            const std::size_t tap = (ky * s.kernel + kx) * s.inputs * s.outputs;
            tile.accumulate({in + (from * s.batch + sample) * s.inputs, s.inputs, 1},
                            weights + tap + column, s.outputs, s.inputs);
          }
        tile.store(out + (pixel * s.batch + sample) * s.outputs + column, s.outputs);
      });
    });
  }
}

void ConvolveWeights(const ConvShape& s, const float* in, const float* d_out, float* d_weights) {
  std::memset(d_weights, 0, s.weights() * sizeof(float));
  const std::size_t pad = s.kernel / 2, taps = s.kernel * s.kernel;
  // One line of d_out at a time: it and the lines of `in` it meets stay in the nearest cache while
  // every tap uses them.
  for (std::size_t y = 0; y < s.out_height(); ++y) {
    const Taps down(y * s.stride, s.height, s.kernel);
    for (std::size_t tap = down.first * s.kernel; tap < std::min(taps, down.last * s.kernel);
         ++tap) {
      const std::size_t kx = tap % s.kernel, from_y = y * s.stride + tap / s.kernel - pad;
      const auto [first, last] = LineOfTap(s, kx);
      if (first >= last) continue;
      const std::size_t runs = s.stride == 1 ? 1 : last - first;
      const std::size_t count = (last - first) / runs * s.batch;
      const float* const left =
          in + (from_y * s.width + first * s.stride + kx - pad) * s.batch * s.inputs;
      const float* const right = d_out + (y * s.out_width() + first) * s.batch * s.outputs;
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(s.inputs, [&](std::size_t channel, auto rows) {
          Tile<rows(), vectors()> tile;
          float* const sums = d_weights + (tap * s.inputs + channel) * s.outputs + column;
          tile.load(sums, s.outputs);
          for (std::size_t run = 0; run < runs; ++run)
            tile.accumulate({left + run * s.stride * s.batch * s.inputs + channel, 1, s.inputs},
                            right + run * s.batch * s.outputs + column, s.outputs, count);
          tile.store(sums, s.outputs);
        });
      });
    }
  }
}

void ConvolveInputs(const ConvShape& s, const float* d_out, const float* turned, float* d_in) {
  const std::size_t taps = s.kernel * s.kernel, block = s.inputs * s.outputs;
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel)
    for_columns(s.inputs, [&](std::size_t column, auto vectors) {
      for_rows(s.batch, [&](std::size_t sample, auto rows) {
        Tile<rows(), vectors()> tile;
        tile.fill(nullptr);
        for (std::size_t tap = 0; tap < taps; ++tap) {
          std::size_t y = 0, x = 0;
          if (!reaches(pixel / s.width, tap / s.kernel, s, s.out_height(), y) ||
              !reaches(pixel % s.width, tap % s.kernel, s, s.out_width(), x))
            continue;
          tile.accumulate(
              {d_out + ((y * s.out_width() + x) * s.batch + sample) * s.outputs, s.outputs, 1},
              turned + (taps - 1 - tap) * block + column, s.inputs, s.outputs);
        }
        tile.store(d_in + (pixel * s.batch + sample) * s.inputs + column, s.inputs);
      });
    });
}

// Four rows by four columns at a time.
void TurnWeights(const ConvShape& s, const float* weights, float* turned) {
#if HWY_TARGET == HWY_SCALAR
  plain::turn_weights(s, weights, turned);
#else
  const hn::FixedTag<float, 4> d;
  const std::size_t taps = s.kernel * s.kernel, block = s.inputs * s.outputs;
  for (std::size_t tap = 0; tap < taps; ++tap)
    for (std::size_t output = 0; output < s.outputs; output += 4)
      for (std::size_t input = 0; input < s.inputs; input += 4) {
        const float* const in = weights + tap * block + input * s.outputs + output;
        float* const out = turned + (taps - 1 - tap) * block + output * s.inputs + input;
        const auto r0 = hn::LoadU(d, in), r1 = hn::LoadU(d, in + s.outputs);
        const auto r2 = hn::LoadU(d, in + 2 * s.outputs), r3 = hn::LoadU(d, in + 3 * s.outputs);
        const auto even_low = hn::InterleaveLower(d, r0, r2);
        const auto odd_low = hn::InterleaveLower(d, r1, r3);
        const auto even_high = hn::InterleaveUpper(d, r0, r2);
        const auto odd_high = hn::InterleaveUpper(d, r1, r3);
        hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
        hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + s.inputs);
        hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * s.inputs);
        hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * s.inputs);
      }
#endif
}

void ConvolveFirst(const ConvShape& s, const float* in, const float* weights, const float* bias,
                   float* out) {
  const std::size_t pad = s.kernel / 2, line = (s.width + s.kernel - 1) * s.inputs;
  const std::size_t taps = s.kernel * s.inputs;  // Of one kernel line: neighbours in memory.
  for (std::size_t y = 0; y < s.height; ++y) {
    const Taps down(y, s.height, s.kernel);
    for (std::size_t sample = 0; sample < s.batch; ++sample)
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(s.width, [&](std::size_t x, auto rows) {
          Tile<rows(), vectors()> tile;
          tile.fill(bias ? bias + column : nullptr);
          for (std::size_t ky = down.first; ky < down.last; ++ky) {
            const float* left = in + ((y + ky - pad) * s.batch + sample) * line + x * s.inputs;
            tile.accumulate({left, s.inputs, 1}, weights + ky * taps * s.outputs + column,
                            s.outputs, taps);
          }
          tile.store(out + ((y * s.width + x) * s.batch + sample) * s.outputs + column,
                     s.batch * s.outputs);
        });
      });
  }
}

void ConvolveFirstWeights(const ConvShape& s, const float* in, const float* d_out,
                          float* d_weights) {
  std::memset(d_weights, 0, s.weights() * sizeof(float));
  const std::size_t pad = s.kernel / 2, line = (s.width + s.kernel - 1) * s.inputs;
  const std::size_t taps = s.kernel * s.inputs;
  for (std::size_t y = 0; y < s.height; ++y) {
    const Taps down(y, s.height, s.kernel);
    for (std::size_t ky = down.first; ky < down.last; ++ky)
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(taps, [&](std::size_t tap, auto rows) {
          Tile<rows(), vectors()> tile;
          float* const sums = d_weights + (ky * taps + tap) * s.outputs + column;
          tile.load(sums, s.outputs);
          for (std::size_t sample = 0; sample < s.batch; ++sample) {
            const float* left = in + ((y + ky - pad) * s.batch + sample) * line + tap;
            const float* right = d_out + (y * s.width * s.batch + sample) * s.outputs + column;
            tile.accumulate({left, 1, s.inputs}, right, s.batch * s.outputs, s.width);
          }
          tile.store(sums, s.outputs);
        });
      });
  }
}

// d_in = d_out weights: the columns are inputs, k runs over outputs. A few rows of the weights at a
// time: a column of all of them would touch a new page of memory with every row.
void LinearInputs(const LinearShape& s, const float* d_out, const float* weights, OutputRange range,
                  float* d_in) {
  constexpr std::size_t kTogether = 32;
  if (range.first == 0) std::fill_n(d_in, s.batch * s.inputs, 0.0f);
  const std::size_t end = range.first + range.count;
  for (std::size_t k = range.first; k < end; k += kTogether) {
    const std::size_t count = std::min(kTogether, end - k);
    const float* const some = weights + k * s.inputs;
    std::size_t left_over = for_columns(s.inputs, [&](std::size_t column, auto vectors) {
      for_rows(s.batch, [&](std::size_t sample, auto rows) {
        Tile<rows(), vectors()> tile;
        float* const sums = d_in + sample * s.inputs + column;
        tile.load(sums, s.inputs);
        tile.accumulate({d_out + sample * s.outputs + k, s.outputs, 1}, some + column, s.inputs,
                        count);
        tile.store(sums, s.inputs);
      });
    });
    for (; left_over < s.inputs; ++left_over)
      for (std::size_t sample = 0; sample < s.batch; ++sample)
        for (std::size_t i = 0; i < count; ++i)
          d_in[sample * s.inputs + left_over] +=
              d_out[sample * s.outputs + k + i] * some[i * s.inputs + left_over];
  }
}

// d_weights = d_out^T in: the rows are outputs, k runs over samples.
void LinearWeights(const LinearShape& s, const float* in, const float* d_out, OutputRange range,
                   float* d_weights) {
  d_out += range.first;
  for_rows(range.count, [&](std::size_t output, auto rows) {
    float* const out = d_weights + output * s.inputs;
    std::size_t left_over = for_columns(s.inputs, [&](std::size_t column, auto vectors) {
      Tile<rows(), vectors()> tile;
      tile.fill(nullptr);
      tile.accumulate({d_out + output, 1, s.outputs}, in + column, s.inputs, s.batch);
      tile.store(out + column, s.inputs);
    });
    for (; left_over < s.inputs; ++left_over)
      for (std::size_t row = 0; row < rows(); ++row) {
        float sum = 0;
        for (std::size_t k = 0; k < s.batch; ++k)
          sum += d_out[k * s.outputs + output + row] * in[k * s.inputs + left_over];
        out[row * s.inputs + left_over] = sum;
      }
  });
}

// A dot product in sixteen partial sums, added up in one order, so that the width of the CPU's
// vectors does not show in the result.
constexpr int kParts = 16 / kLanes;

template <int rows, int outputs>
HWY_INLINE void dots(const LinearShape& s, const float* in, const float* weights, const float* bias,
                     float* out) {
  const Floats d;
  FloatVector sums[rows][outputs][kParts];
  for (auto& row : sums)
    for (auto& output : row)
      for (auto& part : output) part = hn::Zero(d);
  const std::size_t whole = s.inputs / 16 * 16;
  for (std::size_t i = 0; i < whole; i += 16)
    for (int p = 0; p < kParts; ++p) {
      FloatVector weight[outputs];
      for (int o = 0; o < outputs; ++o)
        weight[o] = hn::LoadU(d, weights + static_cast<std::size_t>(o) * s.inputs + i + p * kLanes);
      for (int r = 0; r < rows; ++r) {
        const auto value =
            hn::LoadU(d, in + static_cast<std::size_t>(r) * s.inputs + i + p * kLanes);
        for (int o = 0; o < outputs; ++o)
          sums[r][o][p] = hn::MulAdd(value, weight[o], sums[r][o][p]);
      }
    }
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t o = 0; o < outputs; ++o) {
      float parts[16];
      for (int p = 0; p < kParts; ++p) hn::StoreU(sums[r][o][p], d, parts + p * kLanes);
      for (std::size_t i = whole; i < s.inputs; ++i)
        parts[i - whole] += in[r * s.inputs + i] * weights[o * s.inputs + i];
      for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
      out[r * s.outputs + o] = parts[0] + bias[o];
    }
}

void Linear(const LinearShape& s, const float* in, const float* weights, const float* bias,
            float* out) {
  constexpr std::size_t kTogether = kLanes == 16 ? 2 : 1;
  for_rows(s.batch, [&](std::size_t sample, auto rows) {
    const float* const from = in + sample * s.inputs;
    float* const to = out + sample * s.outputs;
    std::size_t o = 0;
    for (; o + kTogether <= s.outputs; o += kTogether)
      dots<rows(), kTogether>(s, from, weights + o * s.inputs, bias + o, to + o);
    for (; o < s.outputs; ++o) dots<rows(), 1>(s, from, weights + o * s.inputs, bias + o, to + o);
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Convolve);
HWY_EXPORT(ConvolveWeights);
HWY_EXPORT(ConvolveInputs);
HWY_EXPORT(TurnWeights);
HWY_EXPORT(ConvolveFirst);
HWY_EXPORT(ConvolveFirstWeights);
HWY_EXPORT(Linear);
HWY_EXPORT(LinearInputs);
HWY_EXPORT(LinearWeights);

void convolve(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out) {
  HWY_DYNAMIC_DISPATCH(Convolve)(shape, in, weights, bias, out);
}

void convolve_weights(const ConvShape& shape, const float* in, const float* d_out,
                      float* d_weights) {
  HWY_DYNAMIC_DISPATCH(ConvolveWeights)(shape, in, d_out, d_weights);
}

void turn_weights(const ConvShape& shape, const float* weights, float* turned) {
  if (shape.inputs % 4 != 0 || shape.outputs % 4 != 0)
    return plain::turn_weights(shape, weights, turned);
  HWY_DYNAMIC_DISPATCH(TurnWeights)(shape, weights, turned);
}

void convolve_inputs(const ConvShape& shape, const float* d_out, const float* turned, float* d_in) {
  if (shape.stride != 1) return HWY_DYNAMIC_DISPATCH(ConvolveInputs)(shape, d_out, turned, d_in);
  ConvShape back = shape;
  std::swap(back.inputs, back.outputs);
  convolve(back, d_out, turned, nullptr, d_in);
}

void convolve_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveFirst)(shape, in, weights, bias, out);
}

void convolve_first_weights(const ConvShape& shape, const float* in, const float* d_out,
                            float* d_weights) {
  HWY_DYNAMIC_DISPATCH(ConvolveFirstWeights)(shape, in, d_out, d_weights);
}

void linear(const LinearShape& shape, const float* in, const float* weights, const float* bias,
            float* out) {
  HWY_DYNAMIC_DISPATCH(Linear)(shape, in, weights, bias, out);
}

void linear_inputs(const LinearShape& shape, const float* d_out, const float* weights,
                   OutputRange range, float* d_in) {
  HWY_DYNAMIC_DISPATCH(LinearInputs)(shape, d_out, weights, range, d_in);
}

void linear_weights(const LinearShape& shape, const float* in, const float* d_out,
                    OutputRange range, float* d_weights) {
  HWY_DYNAMIC_DISPATCH(LinearWeights)(shape, in, d_out, range, d_weights);
}

}  // namespace tessera
#endif  // HWY_ONCE
