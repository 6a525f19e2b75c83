#include "learn/conv_amx.h"

#include <algorithm>

#include "base/check.h"
#include "learn/amx.h"
#include "learn/amx_tile.h"
#include "learn/conv_taps.h"

namespace tessera::amx {
namespace {

constexpr std::size_t kWhole = 32;  // A tile's depth, and the rows of two.

std::size_t padded_width(const ConvShape& s) {
  return s.width + s.kernel - 1;
}
// Numbers of one channel of a line of `in`, and what a last tile reads behind them.
std::size_t channel_line(const ConvShape& s) {
  return padded_width(s) * s.batch + kWhole;
}
// A line's pixels and samples, in whole tiles.
std::size_t line_depth(const ConvShape& s) {
  return (s.width * s.batch + kWhole - 1) / kWhole * kWhole;
}

}  // namespace

ConvSpace::ConvSpace(const ConvShape& s) {
  const std::size_t channels = std::max(s.inputs, s.outputs);
  image.resize((s.height * padded_width(s) * s.batch + kWhole) * channels);
  weights.resize(s.weights());
  lines.resize(s.height * s.inputs * channel_line(s));
  pairs.resize(s.out_height() * line_depth(s) * s.outputs);
}

}  // namespace tessera::amx

#if TESSERA_HAS_BF16

TESSERA_AMX_BEGIN
namespace tessera::amx {
namespace {

// Every stride-th line and pixel of an image with a border left and right; zeros are between them.
void copy_image(const ConvShape& s, std::size_t stride, std::size_t channels, const float* from,
                Bf16* to) {
  const std::size_t pixel = s.batch * channels, border = s.kernel / 2 * pixel;
  const std::size_t line = padded_width(s) * pixel;
  for (std::size_t y = 0; y < s.height; y += stride) {
    Bf16* const begin = to + y * line;
    std::fill_n(begin, stride == 1 ? border : line, Bf16{0});
    std::fill_n(begin + line - border, border, Bf16{0});
    const std::size_t step = stride == 1 ? s.width : 1;
    for (std::size_t x = 0; x < s.width; x += step * stride, from += step * pixel)
      bf16::round_all(step * pixel, from, begin + border + x * pixel);
  }
}

// `out` from space.image, of whose lines every `filled`-th holds something.
void sum_taps(const ConvShape& s, std::size_t filled, const float* bias, float* out,
              const ConvSpace& space) {
  const std::size_t depth = s.inputs % kDepth == 0 ? kDepth : kDepth / 2;
  // Without a stride, the pixels of a line are one run of rows.
  const std::size_t runs = s.stride == 1 ? 1 : s.out_width();
  const std::size_t run_pixels = s.out_width() / runs, rows = run_pixels * s.batch;
  const Tiles tiles(depth);
  for (std::size_t y = 0; y < s.out_height(); ++y) {
    const Taps down(y * s.stride, s.height, s.kernel);
    for (std::size_t run = 0; run < runs; ++run)
      for_blocks(rows, s.outputs, [&](std::size_t row, std::size_t column, auto tall, auto wide) {
        using Sums = Block<tall(), wide()>;
        Sums::begin(bias ? bias + column : nullptr);
        for (std::size_t ky = down.first; ky < down.last; ++ky) {
          const std::size_t line = y * s.stride + ky - s.kernel / 2;
          if (line % filled != 0) continue;
          for (std::size_t kx = 0; kx < s.kernel; ++kx) {
            const std::size_t pixel = line * padded_width(s) + run * s.stride + kx;
            const Bf16* const a = space.image.data() + (pixel * s.batch + row) * s.inputs;
            const Bf16* const b =
                space.weights.data() + (ky * s.kernel + kx) * s.inputs * s.outputs + 2 * column;
            for (std::size_t k = 0; k < s.inputs; k += depth)
              Sums::add(a + k, s.inputs, b + k * s.outputs, 2 * s.outputs);
          }
        }
        Sums::store(out + ((y * s.out_width() + run) * s.batch + row) * s.outputs + column,
                    s.outputs, std::min(rows - row, tall() * kSide));
      });
  }
}

// Pairs of rows to pairs of columns: 16 lines of 16 pairs.
HWY_INLINE void transpose(__m512i* lines) {
  __m512i by_two[16], by_four[16];
  for (std::size_t i = 0; i < 16; i += 2) {
    by_two[i] = _mm512_unpacklo_epi32(lines[i], lines[i + 1]);
    by_two[i + 1] = _mm512_unpackhi_epi32(lines[i], lines[i + 1]);
  }
  for (std::size_t i = 0; i < 16; i += 4)
    for (std::size_t half = 0; half < 2; ++half) {
      by_four[i + 2 * half] = _mm512_unpacklo_epi64(by_two[i + half], by_two[i + 2 + half]);
      by_four[i + 2 * half + 1] = _mm512_unpackhi_epi64(by_two[i + half], by_two[i + 2 + half]);
    }
  constexpr int kEven = 0x88, kOdd = 0xdd;  // Quarters of a vector.
  for (std::size_t j = 0; j < 4; ++j) {
    const __m512i even1 = _mm512_shuffle_i32x4(by_four[j], by_four[4 + j], kEven);
    const __m512i even2 = _mm512_shuffle_i32x4(by_four[8 + j], by_four[12 + j], kEven);
    const __m512i odd1 = _mm512_shuffle_i32x4(by_four[j], by_four[4 + j], kOdd);
    const __m512i odd2 = _mm512_shuffle_i32x4(by_four[8 + j], by_four[12 + j], kOdd);
    lines[j] = _mm512_shuffle_i32x4(even1, even2, kEven);
    lines[8 + j] = _mm512_shuffle_i32x4(even1, even2, kOdd);
    lines[4 + j] = _mm512_shuffle_i32x4(odd1, odd2, kEven);
    lines[12 + j] = _mm512_shuffle_i32x4(odd1, odd2, kOdd);
  }
}

// to[column * step + row] for up to 32 rows of 16 columns.
HWY_INLINE void turn(std::size_t rows, std::size_t columns, const float* from, Bf16* to,
                     std::size_t step) {
  __m512i lines[16];
  for (std::size_t i = 0; i < 16; ++i) {
    const auto row = [&](std::size_t r) {
      return r < rows ? _mm512_loadu_ps(from + r * columns) : _mm512_setzero_ps();
    };
    lines[i] = bf16::pair(row(2 * i), row(2 * i + 1));
  }
  transpose(lines);
  const auto counted = static_cast<__mmask32>((std::uint64_t{1} << rows) - 1);
  for (std::size_t i = 0; i < 16; ++i) _mm512_mask_storeu_epi16(to + i * step, counted, lines[i]);
}

// space.lines, with zeros wherever a tile may read beside the image.
void turn_lines(const ConvShape& s, const float* in, ConvSpace& space) {
  const std::size_t step = channel_line(s), border = s.kernel / 2 * s.batch;
  const std::size_t numbers = s.width * s.batch;
  for (std::size_t y = 0; y < s.height; ++y, in += numbers * s.inputs) {
    Bf16* const to = space.lines.data() + y * s.inputs * step;
    for (std::size_t channel = 0; channel < s.inputs; ++channel) {
      std::fill_n(to + channel * step, border, Bf16{0});
      std::fill_n(to + channel * step + border + numbers, step - border - numbers, Bf16{0});
    }
    for (std::size_t row = 0; row < numbers; row += kWhole)
      for (std::size_t channel = 0; channel < s.inputs; channel += kSide)
        turn(std::min(kWhole, numbers - row), s.inputs, in + row * s.inputs + channel,
             to + channel * step + border + row, step);
  }
}

// space.pairs: lines of d_out as wide as those of `in`, with zeros between the pixels.
void pair_lines(const ConvShape& s, const float* d_out, ConvSpace& space) {
  const std::size_t depth = line_depth(s), numbers = s.width * s.batch;
  const std::size_t samples = s.batch * s.outputs;
  for (std::size_t y = 0; y < s.out_height(); ++y, d_out += s.out_width() * samples) {
    Bf16* const to = space.pairs.data() + y * depth * s.outputs;
    const auto row = [&](std::size_t r) -> const float* {
      const std::size_t x = r / s.batch, sample = r % s.batch;
      return r < numbers && x % s.stride == 0 ? d_out + x / s.stride * samples + sample * s.outputs
                                              : nullptr;
    };
    if (s.stride == 1) {
      bf16::pair_rows(numbers, s.outputs, d_out, to);
      const std::size_t paired = (numbers + 1) / 2 * 2;
      std::fill_n(to + paired * s.outputs, (depth - paired) * s.outputs, Bf16{0});
    } else {
      for (std::size_t r = 0; r < depth; r += 2)
        bf16::pair_two(s.outputs, row(r), row(r + 1), to + r * s.outputs);
    }
  }
}

}  // namespace

void convolve(const ConvShape& s, const float* in, const float* weights, const float* bias,
              float* out, ConvSpace& space) {
  copy_image(s, 1, s.inputs, in, space.image.data());
  bf16::pair_rows(s.kernel * s.kernel * s.inputs, s.outputs, weights, space.weights.data());
  sum_taps(s, 1, bias, out, space);
}

void convolve_inputs(const ConvShape& s, const float* d_out, const float* turned, float* d_in,
                     ConvSpace& space) {
  ConvShape back = s;
  std::swap(back.inputs, back.outputs);
  back.stride = 1;
  copy_image(s, s.stride, s.outputs, d_out, space.image.data());
  bf16::pair_rows(s.kernel * s.kernel * s.outputs, s.inputs, turned, space.weights.data());
  sum_taps(back, s.stride, nullptr, d_in, space);
}

void convolve_weights(const ConvShape& s, const float* in, const float* d_out, float* d_weights,
                      ConvSpace& space) {
  turn_lines(s, in, space);
  pair_lines(s, d_out, space);
  const std::size_t step = channel_line(s), depth = line_depth(s), pad = s.kernel / 2;
  const Tiles tiles(kDepth);
  for (std::size_t tap = 0; tap < s.kernel * s.kernel; ++tap)
    for_blocks(s.inputs, s.outputs, [&](std::size_t row, std::size_t column, auto tall, auto wide) {
      using Sums = Block<tall(), wide()>;
      Sums::begin(nullptr);
      for (std::size_t y = 0; y < s.out_height(); ++y) {
        // Above the image this wraps around to a large number.
        const std::size_t line = y * s.stride + tap / s.kernel - pad;
        if (line >= s.height) continue;
        const Bf16* const a =
            space.lines.data() + (line * s.inputs + row) * step + tap % s.kernel * s.batch;
        const Bf16* const b = space.pairs.data() + y * depth * s.outputs + 2 * column;
        for (std::size_t k = 0; k < depth; k += kDepth)
          Sums::add(a + k, step, b + k * s.outputs, 2 * s.outputs);
      }
      Sums::store(d_weights + (tap * s.inputs + row) * s.outputs + column, s.outputs,
                  std::min(s.inputs - row, tall() * kSide));
    });
}

}  // namespace tessera::amx
TESSERA_AMX_END

#else  // TESSERA_HAS_BF16

namespace tessera::amx {

void convolve(const ConvShape&, const float*, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_amx());
}
void convolve_weights(const ConvShape&, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_amx());
}
void convolve_inputs(const ConvShape&, const float*, const float*, float*, ConvSpace&) {
  CHECK(has_amx());
}

}  // namespace tessera::amx

#endif  // TESSERA_HAS_BF16
