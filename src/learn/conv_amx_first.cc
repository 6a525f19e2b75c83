#include "learn/conv_amx_first.h"

#include <algorithm>

#include "base/check.h"
#include "learn/amx.h"
#include "learn/amx_tile.h"
#include "learn/conv_taps.h"

namespace tessera::amx {
namespace {

constexpr std::size_t kWhole = 32;    // A tile's depth, and the rows of two.
constexpr std::size_t kTapsMax = 16;  // Numbers under a line of the kernel.

std::size_t taps_of(const ConvShape& s) {
  return s.kernel * s.inputs;
}
std::size_t pixel_line(const ConvShape& s) {
  return (s.width + s.kernel - 1) * s.inputs + kTapsMax;
}
std::size_t whole_width(const ConvShape& s) {
  return (s.width + kWhole - 1) / kWhole * kWhole;
}
std::size_t plane_line(const ConvShape& s) {
  return whole_width(s) + s.kernel - 1;
}

}  // namespace

bool first_fits(const ConvShape& s) {
  return taps_of(s) <= kTapsMax && s.stride == 1 && s.outputs % 16 == 0;
}

// The last rows that a tile reads may not count, and lie behind the last line.
FirstSpace::FirstSpace(const ConvShape& s) {
  pixels.resize(s.height * s.batch * pixel_line(s) + kWhole * s.inputs);
  planes.resize(s.height * s.batch * s.inputs * plane_line(s));
  weights.resize(s.kernel * kTapsMax * s.outputs);
  taps.resize(s.height * s.batch * whole_width(s) * kTapsMax);
  pairs.resize(s.height * s.batch * whole_width(s) * s.outputs);
}

}  // namespace tessera::amx

#if TESSERA_HAS_BF16

TESSERA_AMX_BEGIN
namespace tessera::amx {
namespace {

// Both copies of the samples, with zeros beside every line.
void read_samples(const ConvShape& s, const float* in, FirstSpace& space) {
  const std::size_t pad = s.kernel / 2, length = plane_line(s);
  for (std::size_t line = 0; line < s.height * s.batch; ++line) {
    const std::size_t y = line / s.batch, sample = line % s.batch;
    Bf16* const pixels = space.pixels.data() + line * pixel_line(s);
    std::fill_n(pixels, pad * s.inputs, Bf16{0});
    std::fill_n(pixels + (pad + s.width) * s.inputs, pad * s.inputs + kTapsMax, Bf16{0});
    for (std::size_t c = 0; c < s.inputs; ++c) {
      Bf16* const plane = space.planes.data() + (line * s.inputs + c) * length;
      std::fill_n(plane, pad, Bf16{0});
      bf16::round_all(s.width, in + ((sample * s.inputs + c) * s.height + y) * s.width,
                      plane + pad);
      std::fill_n(plane + pad + s.width, length - pad - s.width, Bf16{0});
      Bf16* to = pixels + pad * s.inputs + c;
      for (std::size_t x = 0; x < s.width; ++x, to += s.inputs) *to = plane[pad + x];
    }
  }
}

void pair_weights(const ConvShape& s, const float* weights, Bf16s64& to) {
  const std::size_t taps = taps_of(s), paired = (taps + 1) / 2 * 2;
  for (std::size_t ky = 0; ky < s.kernel; ++ky) {
    Bf16* const line = to.data() + ky * kTapsMax * s.outputs;
    bf16::pair_rows(taps, s.outputs, weights + ky * taps * s.outputs, line);
    std::fill_n(line + paired * s.outputs, (kTapsMax - paired) * s.outputs, Bf16{0});
  }
}

// Row kx * inputs + c of a tile: 32 pixels of channel c that lie under column kx of the kernel.
void lay_taps(const ConvShape& s, FirstSpace& space) {
  Bf16* to = space.taps.data();
  for (std::size_t line = 0; line < s.height * s.batch; ++line)
    for (std::size_t x = 0; x < whole_width(s); x += kWhole, to += kTapsMax * kWhole)
      for (std::size_t tap = 0; tap < taps_of(s); ++tap)
        std::copy_n(space.planes.data() + (line * s.inputs + tap % s.inputs) * plane_line(s) + x +
                        tap / s.inputs,
                    kWhole, to + tap * kWhole);
}

void pair_pixels(const ConvShape& s, const float* d_out, FirstSpace& space) {
  const std::size_t pixel = s.batch * s.outputs;
  for (std::size_t line = 0; line < s.height * s.batch; ++line) {
    const float* const from = d_out + line / s.batch * s.width * pixel + line % s.batch * s.outputs;
    Bf16* const to = space.pairs.data() + line * whole_width(s) * s.outputs;
    const auto at = [&](std::size_t x) { return x < s.width ? from + x * pixel : nullptr; };
    for (std::size_t x = 0; x < whole_width(s); x += 2)
      bf16::pair_two(s.outputs, at(x), at(x + 1), to + x * s.outputs);
  }
}

}  // namespace

void convolve_first(const ConvShape& s, const float* in, const float* weights, const float* bias,
                    float* out, FirstSpace& space) {
  read_samples(s, in, space);
  pair_weights(s, weights, space.weights);
  const Tiles tiles(kTapsMax);
  for (std::size_t y = 0; y < s.height; ++y) {
    const Taps down(y, s.height, s.kernel);
    for (std::size_t sample = 0; sample < s.batch; ++sample)
      for_blocks(s.width, s.outputs, [&](std::size_t x, std::size_t column, auto tall, auto wide) {
        using Sums = Block<tall(), wide()>;
        Sums::begin(bias ? bias + column : nullptr);
        for (std::size_t ky = down.first; ky < down.last; ++ky) {
          const std::size_t line = (y + ky - s.kernel / 2) * s.batch + sample;
          Sums::add(space.pixels.data() + line * pixel_line(s) + x * s.inputs, s.inputs,
                    space.weights.data() + ky * kTapsMax * s.outputs + 2 * column, 2 * s.outputs);
        }
        Sums::store(out + ((y * s.width + x) * s.batch + sample) * s.outputs + column,
                    s.batch * s.outputs, std::min(s.width - x, tall() * kSide));
      });
  }
}

void convolve_first_weights(const ConvShape& s, const float* d_out, float* d_weights,
                            FirstSpace& space) {
  lay_taps(s, space);
  pair_pixels(s, d_out, space);
  const std::size_t length = whole_width(s);
  const Tiles tiles(kDepth);
  for (std::size_t ky = 0; ky < s.kernel; ++ky)
    for_blocks(taps_of(s), s.outputs,
               [&](std::size_t row, std::size_t column, auto tall, auto wide) {
                 using Sums = Block<tall(), wide()>;
                 Sums::begin(nullptr);
                 for (std::size_t y = 0; y < s.height; ++y) {
                   // Above the image this wraps around to a large number.
                   const std::size_t from_y = y + ky - s.kernel / 2;
                   if (from_y >= s.height) continue;
                   // All samples of a line lie one after the other.
                   const Bf16* const a = space.taps.data() + from_y * s.batch * length * kTapsMax;
                   const Bf16* const b =
                       space.pairs.data() + y * s.batch * length * s.outputs + 2 * column;
                   for (std::size_t k = 0; k < s.batch * length; k += kDepth)
                     Sums::add(a + k * kTapsMax, kDepth, b + k * s.outputs, 2 * s.outputs);
                 }
                 Sums::store(d_weights + (ky * taps_of(s) + row) * s.outputs + column, s.outputs,
                             taps_of(s));
               });
}

}  // namespace tessera::amx
TESSERA_AMX_END

#else  // TESSERA_HAS_BF16

namespace tessera::amx {

void convolve_first(const ConvShape&, const float*, const float*, const float*, float*,
                    FirstSpace&) {
  CHECK(has_amx());
}
void convolve_first_weights(const ConvShape&, const float*, float*, FirstSpace&) {
  CHECK(has_amx());
}

}  // namespace tessera::amx

#endif  // TESSERA_HAS_BF16
