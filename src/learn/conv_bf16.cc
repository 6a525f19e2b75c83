#include "learn/conv_bf16.h"

#include <algorithm>

#include "base/check.h"
#include "learn/bf16_tile.h"
#include "learn/conv_taps.h"

namespace tessera::bf16 {
namespace {

// Samples come in pairs; the last of an odd batch is paired with zeros.
std::size_t pairs_of(std::size_t count) {
  return (count + 1) / 2;
}

std::size_t line_of(const ConvShape& s) {
  return (s.width + s.kernel - 1) * s.inputs;
}

}  // namespace

ConvSpace::ConvSpace(const ConvShape& s, bool first) {
  const std::size_t samples_paired = 2 * pairs_of(s.batch);
  const std::size_t image = first ? s.height * line_of(s) : s.pixels() * s.inputs;
  // One number more: the last pair of a line of the first layer may reach beyond it.
  rows.resize(std::max(s.batch * image + 1, s.batch * s.out_pixels() * s.outputs));
  weights.resize(s.kernel * 2 * pairs_of(s.kernel * s.inputs) * s.outputs);
  samples.resize(samples_paired * image);
  line.resize(samples_paired * s.out_width() * s.outputs);
  sources.reserve(s.kernel * s.kernel);
}

}  // namespace tessera::bf16

#if TESSERA_HAS_BF16

TESSERA_BF16_BEGIN
namespace tessera::bf16 {
namespace {

// Every pixel's samples in pairs.
void pair_samples(std::size_t pixels, std::size_t batch, std::size_t columns, const float* from,
                  Bf16* to) {
  if (batch % 2 == 0) return pair_rows(pixels * batch, columns, from, to);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
    pair_rows(batch, columns, from + pixel * batch * columns,
              to + pixel * 2 * pairs_of(batch) * columns);
}

// One pixel of `out`: what space.sources give with weights [tap][inputs][outputs].
HWY_INLINE void sum_sources(const ConvSpace& space, std::size_t batch, std::size_t inputs,
                            std::size_t outputs, const float* bias, float* out) {
  for_columns(outputs, [&](std::size_t column, auto vectors) {
    for_rows(batch, [&](std::size_t sample, auto rows) {
      Tile<rows(), vectors()> tile;
      tile.fill(bias ? bias + column : nullptr);
      for (const ConvSpace::Source& source : space.sources)
        tile.accumulate({space.rows.data() + (source.pixel * batch + sample) * inputs, inputs, 2},
                        space.weights.data() + source.tap * inputs * outputs + 2 * column,
                        2 * outputs, inputs / 2);
      tile.store(out + sample * outputs + column, outputs);
    });
  });
}

}  // namespace

void convolve(const ConvShape& s, const float* in, const float* weights, const float* bias,
              float* out, ConvSpace& space) {
  const std::size_t pad = s.kernel / 2;
  round_all(s.pixels() * s.batch * s.inputs, in, space.rows.data());
  pair_rows(s.kernel * s.kernel * s.inputs, s.outputs, weights, space.weights.data());
  for (std::size_t pixel = 0; pixel < s.out_pixels(); ++pixel) {
    const std::size_t y = pixel / s.out_width() * s.stride, x = pixel % s.out_width() * s.stride;
    const Taps down(y, s.height, s.kernel), across(x, s.width, s.kernel);
    space.sources.clear();
    for (std::size_t ky = down.first; ky < down.last; ++ky)
      for (std::size_t kx = across.first; kx < across.last; ++kx)
        space.sources.push_back({(y + ky - pad) * s.width + x + kx - pad, ky * s.kernel + kx});
    sum_sources(space, s.batch, s.inputs, s.outputs, bias, out + pixel * s.batch * s.outputs);
  }
}

void convolve_inputs(const ConvShape& s, const float* d_out, const float* turned, float* d_in,
                     ConvSpace& space) {
  const std::size_t taps = s.kernel * s.kernel;
  round_all(s.out_pixels() * s.batch * s.outputs, d_out, space.rows.data());
  pair_rows(taps * s.outputs, s.inputs, turned, space.weights.data());
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel) {
    space.sources.clear();
    for (std::size_t tap = 0; tap < taps; ++tap) {
      std::size_t y = 0, x = 0;
      if (reaches(pixel / s.width, tap / s.kernel, s, s.out_height(), y) &&
          reaches(pixel % s.width, tap % s.kernel, s, s.out_width(), x))
        space.sources.push_back({y * s.out_width() + x, taps - 1 - tap});
    }
    sum_sources(space, s.batch, s.outputs, s.inputs, nullptr, d_in + pixel * s.batch * s.inputs);
  }
}

void convolve_weights(const ConvShape& s, const float* in, const float* d_out, float* d_weights,
                      ConvSpace& space) {
  std::fill_n(d_weights, s.weights(), 0.0f);
  const std::size_t pad = s.kernel / 2, taps = s.kernel * s.kernel, pairs = pairs_of(s.batch);
  const std::size_t left_pixel = 2 * pairs * s.inputs, right_pixel = 2 * pairs * s.outputs;
  pair_samples(s.pixels(), s.batch, s.inputs, in, space.samples.data());
  for (std::size_t y = 0; y < s.out_height(); ++y) {
    pair_samples(s.out_width(), s.batch, s.outputs, d_out + y * s.out_width() * s.batch * s.outputs,
                 space.line.data());
    const Taps down(y * s.stride, s.height, s.kernel);
    for (std::size_t tap = down.first * s.kernel; tap < std::min(taps, down.last * s.kernel);
         ++tap) {
      const std::size_t kx = tap % s.kernel, from_y = y * s.stride + tap / s.kernel - pad;
      const auto [first, last] = LineOfTap(s, kx);
      if (first >= last) continue;
      const std::size_t runs = s.stride == 1 ? 1 : last - first;
      const std::size_t count = (last - first) / runs * pairs;
      const Bf16* const left =
          space.samples.data() + (from_y * s.width + first * s.stride + kx - pad) * left_pixel;
      const Bf16* const right = space.line.data() + first * right_pixel;
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(s.inputs, [&](std::size_t channel, auto rows) {
          Tile<rows(), vectors()> tile;
          float* const sums = d_weights + (tap * s.inputs + channel) * s.outputs + column;
          tile.load(sums, s.outputs);
          for (std::size_t run = 0; run < runs; ++run)
            tile.accumulate({left + run * s.stride * left_pixel + 2 * channel, 2, 2 * s.inputs},
                            right + run * right_pixel + 2 * column, 2 * s.outputs, count);
          tile.store(sums, s.outputs);
        });
      });
    }
  }
}

void convolve_first(const ConvShape& s, const float* in, const float* weights, const float* bias,
                    float* out, ConvSpace& space) {
  const std::size_t pad = s.kernel / 2, line = line_of(s);
  const std::size_t taps = s.kernel * s.inputs;  // Of one kernel line: neighbours in memory.
  const std::size_t kernel_line = 2 * pairs_of(taps) * s.outputs;
  round_all(s.height * s.batch * line, in, space.rows.data());
  for (std::size_t ky = 0; ky < s.kernel; ++ky)
    pair_rows(taps, s.outputs, weights + ky * taps * s.outputs,
              space.weights.data() + ky * kernel_line);
  for (std::size_t y = 0; y < s.height; ++y) {
    const Taps down(y, s.height, s.kernel);
    for (std::size_t sample = 0; sample < s.batch; ++sample)
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(s.width, [&](std::size_t x, auto rows) {
          Tile<rows(), vectors()> tile;
          tile.fill(bias ? bias + column : nullptr);
          for (std::size_t ky = down.first; ky < down.last; ++ky) {
            const std::size_t from = ((y + ky - pad) * s.batch + sample) * line + x * s.inputs;
            tile.accumulate({space.rows.data() + from, s.inputs, 2},
                            space.weights.data() + ky * kernel_line + 2 * column, 2 * s.outputs,
                            pairs_of(taps));
          }
          tile.store(out + ((y * s.width + x) * s.batch + sample) * s.outputs + column,
                     s.batch * s.outputs);
        });
      });
  }
}

void convolve_first_weights(const ConvShape& s, const float* in, const float* d_out,
                            float* d_weights, ConvSpace& space) {
  std::fill_n(d_weights, s.weights(), 0.0f);
  const std::size_t pad = s.kernel / 2, line = line_of(s), pairs = pairs_of(s.batch);
  const std::size_t taps = s.kernel * s.inputs;
  pair_samples(s.height, s.batch, line, in, space.samples.data());
  for (std::size_t y = 0; y < s.height; ++y) {
    pair_samples(s.width, s.batch, s.outputs, d_out + y * s.width * s.batch * s.outputs,
                 space.line.data());
    const Taps down(y, s.height, s.kernel);
    for (std::size_t ky = down.first; ky < down.last; ++ky)
      for_columns(s.outputs, [&](std::size_t column, auto vectors) {
        for_rows(taps, [&](std::size_t tap, auto rows) {
          Tile<rows(), vectors()> tile;
          float* const sums = d_weights + (ky * taps + tap) * s.outputs + column;
          tile.load(sums, s.outputs);
          for (std::size_t pair = 0; pair < pairs; ++pair) {
            const std::size_t from = ((y + ky - pad) * pairs + pair) * line + tap;
            tile.accumulate({space.samples.data() + 2 * from, 2, 2 * s.inputs},
                            space.line.data() + 2 * (pair * s.outputs + column),
                            2 * pairs * s.outputs, s.width);
          }
          tile.store(sums, s.outputs);
        });
      });
  }
}

}  // namespace tessera::bf16
TESSERA_BF16_END

#else  // TESSERA_HAS_BF16

namespace tessera::bf16 {

void convolve(const ConvShape&, const float*, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_bf16());
}
void convolve_weights(const ConvShape&, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_bf16());
}
void convolve_inputs(const ConvShape&, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_bf16());
}
void convolve_first(const ConvShape&, const float*, const float*, const float*, float*,
                    ConvSpace&) {
  CHECK(has_bf16());
}
void convolve_first_weights(const ConvShape&, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_bf16());
}

}  // namespace tessera::bf16

#endif  // TESSERA_HAS_BF16
