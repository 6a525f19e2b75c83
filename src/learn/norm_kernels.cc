#include "learn/norm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/norm_kernels.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());

void ScaleAndShift(PoolShape s, const float* x, const float* scale, const float* shift, bool relu,
                   float* y) {
  const Floats d;
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel, x += s.columns, y += s.columns)
    for (std::size_t c = 0; c < s.columns; c += kLanes) {
      const auto value =
          hn::MulAdd(hn::LoadU(d, scale + c), hn::LoadU(d, x + c), hn::LoadU(d, shift + c));
      const auto cut_off = hn::Le(value, hn::Zero(d));
      hn::StoreU(relu ? hn::IfThenZeroElse(cut_off, value) : value, d, y + c);
    }
}

void ScaleAndShiftSums(PoolShape s, const float* x, const float* dy, const float* mean,
                       float* d_shift, float* d_scale) {
  const Floats d;
  std::fill_n(d_shift, s.columns, 0.0f);
  std::fill_n(d_scale, s.columns, 0.0f);
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel, x += s.columns, dy += s.columns)
    for (std::size_t c = 0; c < s.columns; c += kLanes) {
      const auto gradient = hn::LoadU(d, dy + c);
      const auto centred = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, mean + c));
      hn::StoreU(hn::Add(hn::LoadU(d, d_shift + c), gradient), d, d_shift + c);
      hn::StoreU(hn::MulAdd(gradient, centred, hn::LoadU(d, d_scale + c)), d, d_scale + c);
    }
}

void ScaleAndShiftGradient(PoolShape s, const float* x, const float* dy, PoolGradient g,
                           float* dx) {
  const Floats d;
  for (std::size_t pixel = 0; pixel < s.pixels();
       ++pixel, x += s.columns, dy += s.columns, dx += s.columns)
    for (std::size_t c = 0; c < s.columns; c += kLanes) {
      const auto rest =
          hn::MulAdd(hn::LoadU(d, g.slope + c), hn::LoadU(d, x + c), hn::LoadU(d, g.offset + c));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, g.scale + c), hn::LoadU(d, dy + c), rest), d, dx + c);
    }
}

void Relu(std::size_t count, const float* x, float* y) {
  const Floats d;
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const auto value = hn::LoadU(d, x + i);
    hn::StoreU(hn::IfThenZeroElse(hn::Le(value, hn::Zero(d)), value), d, y + i);
  }
  for (std::size_t i = whole; i < count; ++i) y[i] = x[i] <= 0 ? 0 : x[i];
}

void ReluGradient(std::size_t count, const float* y, float* dy) {
  const Floats d;
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const auto cut_off = hn::Le(hn::LoadU(d, y + i), hn::Zero(d));
    hn::StoreU(hn::IfThenZeroElse(cut_off, hn::LoadU(d, dy + i)), d, dy + i);
  }
  for (std::size_t i = whole; i < count; ++i)
    if (y[i] <= 0) dy[i] = 0;
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(ScaleAndShift);
HWY_EXPORT(ScaleAndShiftSums);
HWY_EXPORT(ScaleAndShiftGradient);
HWY_EXPORT(Relu);
HWY_EXPORT(ReluGradient);

void scale_and_shift(PoolShape shape, const float* x, const float* scale, const float* shift,
                     bool relu, float* y) {
  HWY_DYNAMIC_DISPATCH(ScaleAndShift)(shape, x, scale, shift, relu, y);
}

void scale_and_shift_sums(PoolShape shape, const float* x, const float* dy, const float* mean,
                          float* d_shift, float* d_scale) {
  HWY_DYNAMIC_DISPATCH(ScaleAndShiftSums)(shape, x, dy, mean, d_shift, d_scale);
}

void scale_and_shift_gradient(PoolShape shape, const float* x, const float* dy,
                              PoolGradient gradient, float* dx) {
  HWY_DYNAMIC_DISPATCH(ScaleAndShiftGradient)(shape, x, dy, gradient, dx);
}

void relu(std::size_t count, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Relu)(count, x, y);
}

void relu_gradient(std::size_t count, const float* y, float* dy) {
  HWY_DYNAMIC_DISPATCH(ReluGradient)(count, y, dy);
}

}  // namespace tessera
#endif  // HWY_ONCE
