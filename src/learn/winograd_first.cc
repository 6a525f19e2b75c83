#include "learn/winograd_first.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/winograd_first.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "learn/winograd-inl.h"
#include "learn/winograd_plan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Samples at a time on the way there: as many as have room for the eight sums of a column each.
constexpr std::size_t kSamples = kLanes == 16 ? 2 : 1;
// Samples at a time on the way back: what they need stays in the nearest cache.
constexpr std::size_t kSamplesBack = 8;

template <std::size_t n>
using Count = std::integral_constant<std::size_t, n>;

// Calls body(Count<inputs>) for the usual numbers of inputs, body(Count<0>) for any other.
template <typename Body>
HWY_INLINE void with_known_inputs(std::size_t inputs, Body body) {
  if (inputs == 3) return body(Count<3>());
  if (inputs == 1) return body(Count<1>());
  body(Count<0>());
}

// Calls body(Count<i>) for the points of a line, written out, so that what they give stays in
// registers.
template <typename Body, std::size_t... i>
HWY_INLINE void for_each_point(Body body, std::index_sequence<i...>) {
  (body(Count<i>()), ...);
}
template <typename Body>
HWY_INLINE void for_each_point(Body body) {
  for_each_point(body, std::make_index_sequence<kPoints>());
}

// What the inputs of `samples` samples, from `at_points` on, give in a vector of outputs of a tile.
template <std::size_t samples, std::size_t known, typename Store>
HWY_INLINE void outputs_of(const ConvShape& s, const WinogradFirstPlan& plan,
                           const float* at_points, const float* weights, Store store) {
  const Floats d;
  const std::size_t inputs = known ? known : s.inputs;
  FloatVector half[samples][kOut][kPoints];
  for (std::size_t column = 0; column < kPoints; ++column) {
    FloatVector sums[samples][kPoints];
    for_each_point([&](auto row) {
      const std::size_t point = row() * kPoints + column;
      const float* const a = at_points + point * plan.in_step;
      const float* const b = weights + point * plan.weights_step;
      for (std::size_t n = 0; n < samples; ++n) sums[n][row()] = hn::Zero(d);
      for (std::size_t c = 0; c < inputs; ++c) {
        const auto weight = hn::LoadU(d, b + c * s.outputs);
        for (std::size_t n = 0; n < samples; ++n)
          sums[n][row()] = hn::MulAdd(hn::Set(d, a[n * inputs + c]), weight, sums[n][row()]);
      }
    });
    for (std::size_t n = 0; n < samples; ++n) {
      FloatVector to[kOut];
      OutputTransform::run(sums[n], to);
      for (std::size_t row = 0; row < kOut; ++row) half[n][row][column] = to[row];
    }
  }
  for (std::size_t n = 0; n < samples; ++n)
    for (std::size_t row = 0; row < kOut; ++row) {
      FloatVector to[kOut];
      OutputTransform::run(half[n][row], to);
      for (std::size_t column = 0; column < kOut; ++column) store(n, row, column, to[column]);
    }
}

template <std::size_t known>
HWY_INLINE void tile_forth(const ConvShape& s, const WinogradFirstPlan& plan,
                           const float* at_points, const float* weights, const float* bias,
                           float* const* pixels) {
  const Floats d;
  for (std::size_t column = 0; column < s.outputs; column += kLanes) {
    const auto shift = bias ? hn::LoadU(d, bias + column) : hn::Zero(d);
    const auto some = [&](std::size_t sample, auto samples) {
      outputs_of<samples(), known>(
          s, plan, at_points + sample * s.inputs, weights + column,
          [&](std::size_t n, std::size_t y, std::size_t x, FloatVector value) {
            float* const to = pixels[y * kOut + x] + (sample + n) * s.outputs + column;
            hn::StoreU(hn::Add(value, shift), d, to);
          });
    };
    std::size_t sample = 0;
    for (; sample + kSamples <= s.batch; sample += kSamples) some(sample, Count<kSamples>());
    for (; sample < s.batch; ++sample) some(sample, Count<1>());
  }
}

void WinogradFirst(const ConvShape& s, const float* in, const float* weights, const float* bias,
                   float* out, WinogradFirstSpace& space) {
  const Floats d;
  const WinogradFirstPlan plan(s);
  const std::size_t pixel = s.batch * s.inputs;
  for (std::size_t i = 0; i < pixel; ++i)
    for (std::size_t at = i; at < s.pixels() * pixel; at += pixel) space.images[at] = *in++;
  weights_to_points(s.inputs * s.outputs, plan.weights_step, weights, false, space.weights.data());
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    float* const at_points = space.in.data() + tile * plan.tile_step();
    const std::size_t y = tile / plan.across * kOut, x = tile % plan.across * kOut;
    const Square<const float, kPoints> from(s, space.images.data(), pixel, space.zeros.data(), y, x,
                                            kKernel / 2);
    transform_squares<InputTransform>(
        pixel,
        [&](std::size_t row, std::size_t column, std::size_t number) {
          return hn::LoadU(d, from.pixels[row * kPoints + column] + number);
        },
        [&](std::size_t row, std::size_t column, std::size_t number, FloatVector value) {
          hn::StoreU(value, d, at_points + (row * kPoints + column) * plan.in_step + number);
        });
    const Square<float, kOut> to(s, out, s.batch * s.outputs, space.nowhere.data(), y, x, 0);
    with_known_inputs(s.inputs, [&](auto known) {
      tile_forth<known()>(s, plan, at_points, space.weights.data(), bias, to.pixels);
    });
  }
}

// A line of points of a few samples: what it adds to the gradient of the weights of some inputs,
// from one on. `half` has the line after the first axis.
template <std::size_t inputs>
HWY_INLINE void add_line(const ConvShape& s, const WinogradFirstPlan& plan,
                         const FloatVector (*half)[kPoints][kOut], std::size_t samples,
                         std::size_t row, const float* at_points, float* d_weights) {
  const Floats d;
  const std::size_t line = row * kPoints;
  FloatVector sums[kPoints][inputs];
  for (std::size_t i = 0; i < kPoints; ++i)
    for (std::size_t c = 0; c < inputs; ++c)
      sums[i][c] = hn::LoadU(d, d_weights + (line + i) * plan.weights_step + c * s.outputs);
  for (std::size_t n = 0; n < samples; ++n) {
    FloatVector to[kPoints];
    OutputAdjoint::run(half[n][row], to);
    for_each_point([&](auto i) {
      for (std::size_t c = 0; c < inputs; ++c) {
        const float value = at_points[(line + i()) * plan.in_step + n * s.inputs + c];
        sums[i()][c] = hn::MulAdd(to[i()], hn::Set(d, value), sums[i()][c]);
      }
    });
  }
  for (std::size_t i = 0; i < kPoints; ++i)
    for (std::size_t c = 0; c < inputs; ++c)
      hn::StoreU(sums[i][c], d, d_weights + (line + i) * plan.weights_step + c * s.outputs);
}

template <std::size_t known>
HWY_INLINE void tile_back(const ConvShape& s, const WinogradFirstPlan& plan,
                          const float* const* pixels, const float* at_points, float* d_weights) {
  const Floats d;
  constexpr std::size_t kTogether = std::max<std::size_t>(known, 1);
  for (std::size_t column = 0; column < s.outputs; column += kLanes)
    for (std::size_t first = 0; first < s.batch; first += kSamplesBack) {
      const std::size_t samples = std::min(kSamplesBack, s.batch - first);
      FloatVector half[kSamplesBack][kPoints][kOut];
      for (std::size_t n = 0; n < samples; ++n)
        for (std::size_t x = 0; x < kOut; ++x) {
          FloatVector from[kOut], to[kPoints];
          for (std::size_t y = 0; y < kOut; ++y)
            from[y] = hn::LoadU(d, pixels[y * kOut + x] + (first + n) * s.outputs + column);
          OutputAdjoint::run(from, to);
          for (std::size_t y = 0; y < kPoints; ++y) half[n][y][x] = to[y];
        }
      for (std::size_t row = 0; row < kPoints; ++row)
        for (std::size_t c = 0; c < s.inputs; c += kTogether)
          add_line<kTogether>(s, plan, half, samples, row, at_points + first * s.inputs + c,
                              d_weights + c * s.outputs + column);
    }
}

void WinogradFirstWeights(const ConvShape& s, const float* d_out, float* d_weights,
                          WinogradFirstSpace& space) {
  const WinogradFirstPlan plan(s);
  std::fill_n(space.weights.data(), kPoints * kPoints * plan.weights_step, 0.0f);
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    const std::size_t y = tile / plan.across * kOut, x = tile % plan.across * kOut;
    const Square<const float, kOut> from(s, d_out, s.batch * s.outputs, space.zeros.data(), y, x,
                                         0);
    with_known_inputs(s.inputs, [&](auto known) {
      tile_back<known()>(s, plan, from.pixels, space.in.data() + tile * plan.tile_step(),
                         space.weights.data());
    });
  }
  points_to_weights(s.inputs * s.outputs, plan.weights_step, space.weights.data(), d_weights);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(WinogradFirst);
HWY_EXPORT(WinogradFirstWeights);

bool winograd_first_fits(const ConvShape& s) {
  return s.kernel == kKernel && s.stride == 1 && s.outputs % 16 == 0;
}

// The last vector of a pixel may be longer than the pixel.
WinogradFirstSpace::WinogradFirstSpace(const ConvShape& s)
    : images(s.pixels() * s.batch * s.inputs + 16),
      weights(kPoints * kPoints * WinogradFirstPlan(s).weights_step),
      in(WinogradFirstPlan(s).tiles * WinogradFirstPlan(s).tile_step()),
      zeros(std::max(s.inputs, s.outputs) * s.batch + 16),
      nowhere(s.outputs * s.batch) {}

void winograd_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out, WinogradFirstSpace& space) {
  HWY_DYNAMIC_DISPATCH(WinogradFirst)(shape, in, weights, bias, out, space);
}

void winograd_first_weights(const ConvShape& shape, const float* d_out, float* d_weights,
                            WinogradFirstSpace& space) {
  HWY_DYNAMIC_DISPATCH(WinogradFirstWeights)(shape, d_out, d_weights, space);
}

}  // namespace tessera
#endif  // HWY_ONCE
