#include "learn/pool_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/pool_kernels.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Places = hn::RebindToSigned<Floats>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());

HWY_INLINE void add_to(float* sum, hn::Vec<Floats> term) {
  const Floats d;
  hn::StoreU(hn::Add(hn::LoadU(d, sum), term), d, sum);
}

void ColumnSums(PoolShape s, const float* x, float* sums) {
  std::fill_n(sums, s.columns, 0.0f);
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel, x += s.columns)
    for (std::size_t c = 0; c < s.columns; c += kLanes)
      add_to(sums + c, hn::LoadU(Floats(), x + c));
}

void ColumnSquares(PoolShape s, const float* x, const float* mean, float* sums) {
  const Floats d;
  std::fill_n(sums, s.columns, 0.0f);
  for (std::size_t pixel = 0; pixel < s.pixels(); ++pixel, x += s.columns)
    for (std::size_t c = 0; c < s.columns; c += kLanes) {
      const auto centred = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, mean + c));
      hn::StoreU(hn::MulAdd(centred, centred, hn::LoadU(d, sums + c)), d, sums + c);
    }
}

void ReluPool(PoolShape s, const float* x, const float* scale, const float* shift, float* pooled,
              Winners winners) {
  const Floats d;
  const Places di;
  for (std::size_t y = 0; y < s.height / 2; ++y)
    for (std::size_t across = 0; across < s.width / 2; ++across) {
      const float* const corner = x + (2 * y * s.width + 2 * across) * s.columns;
      const std::size_t next[4] = {0, s.columns, s.width * s.columns, (s.width + 1) * s.columns};
      const std::size_t to = (y * (s.width / 2) + across) * s.columns;
      for (std::size_t c = 0; c < s.columns; c += kLanes) {
        const auto a = hn::LoadU(d, scale + c), b = hn::LoadU(d, shift + c);
        auto best_x = hn::LoadU(d, corner + c);
        auto best = hn::MulAdd(a, best_x, b);
        auto place = hn::Zero(di);
        for (int i = 1; i < 4; ++i) {
          const auto this_x = hn::LoadU(d, corner + next[i] + c);
          const auto value = hn::MulAdd(a, this_x, b);
          // The first of equals wins, and a NaN is passed on: as PyTorch does.
          const auto wins = hn::Or(hn::Gt(value, best), hn::Ne(value, value));
          best = hn::IfThenElse(wins, value, best);
          best_x = hn::IfThenElse(wins, this_x, best_x);
          place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, i), place);
        }
        const auto cut_off = hn::Le(best, hn::Zero(d));
        hn::StoreU(hn::IfThenZeroElse(cut_off, best), d, pooled + to + c);
        hn::StoreU(best_x, d, winners.x + to + c);
        hn::StoreU(hn::IfThenElse(hn::RebindMask(di, cut_off), hn::Set(di, kNobody), place), di,
                   winners.place + to + c);
      }
    }
}

void WinnerSums(PoolShape s, const float* d_pooled, Winners winners, const float* mean,
                float* d_shift, float* d_scale) {
  const Floats d;
  const Places di;
  std::fill_n(d_shift, s.columns, 0.0f);
  std::fill_n(d_scale, s.columns, 0.0f);
  for (std::size_t pixel = 0; pixel < s.pooled_pixels(); ++pixel)
    for (std::size_t c = 0; c < s.columns; c += kLanes) {
      const std::size_t at = pixel * s.columns + c;
      const auto cut_off = hn::Eq(hn::LoadU(di, winners.place + at), hn::Set(di, kNobody));
      const auto dy = hn::IfThenZeroElse(hn::RebindMask(d, cut_off), hn::LoadU(d, d_pooled + at));
      add_to(d_shift + c, dy);
      const auto centred = hn::Sub(hn::LoadU(d, winners.x + at), hn::LoadU(d, mean + c));
      hn::StoreU(hn::MulAdd(dy, centred, hn::LoadU(d, d_scale + c)), d, d_scale + c);
    }
}

// The gradient of one pixel nobody pooled: a last odd row or column.
HWY_INLINE void gradient_outside(std::size_t columns, float* x, PoolGradient g, float* sums) {
  const Floats d;
  for (std::size_t c = 0; c < columns; c += kLanes) {
    const auto dx =
        hn::MulAdd(hn::LoadU(d, g.slope + c), hn::LoadU(d, x + c), hn::LoadU(d, g.offset + c));
    hn::StoreU(dx, d, x + c);
    add_to(sums + c, dx);
  }
}

void ReluPoolGradient(PoolShape s, float* x, const float* d_pooled, Winners winners, PoolGradient g,
                      float* sums) {
  const Floats d;
  const Places di;
  std::fill_n(sums, s.columns, 0.0f);
  for (std::size_t y = 0; y < s.height / 2; ++y)
    for (std::size_t across = 0; across < s.width / 2; ++across) {
      float* const corner = x + (2 * y * s.width + 2 * across) * s.columns;
      const std::size_t next[4] = {0, s.columns, s.width * s.columns, (s.width + 1) * s.columns};
      const std::size_t from = (y * (s.width / 2) + across) * s.columns;
      for (std::size_t c = 0; c < s.columns; c += kLanes) {
        const auto slope = hn::LoadU(d, g.slope + c), offset = hn::LoadU(d, g.offset + c);
        const auto scaled = hn::Mul(hn::LoadU(d, g.scale + c), hn::LoadU(d, d_pooled + from + c));
        const auto place = hn::LoadU(di, winners.place + from + c);
        auto sum = hn::LoadU(d, sums + c);
        for (int i = 0; i < 4; ++i) {
          float* const at = corner + next[i] + c;
          const auto won = hn::RebindMask(d, hn::Eq(place, hn::Set(di, i)));
          const auto dx =
              hn::Add(hn::MulAdd(slope, hn::LoadU(d, at), offset), hn::IfThenElseZero(won, scaled));
          hn::StoreU(dx, d, at);
          sum = hn::Add(sum, dx);
        }
        hn::StoreU(sum, d, sums + c);
      }
    }
  if (s.width % 2 == 1)
    for (std::size_t y = 0; y < s.height / 2 * 2; ++y)
      gradient_outside(s.columns, x + (y * s.width + s.width - 1) * s.columns, g, sums);
  if (s.height % 2 == 1)
    for (std::size_t across = 0; across < s.width; ++across)
      gradient_outside(s.columns, x + ((s.height - 1) * s.width + across) * s.columns, g, sums);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(ColumnSums);
HWY_EXPORT(ColumnSquares);
HWY_EXPORT(ReluPool);
HWY_EXPORT(WinnerSums);
HWY_EXPORT(ReluPoolGradient);

void column_sums(PoolShape shape, const float* x, float* sums) {
  HWY_DYNAMIC_DISPATCH(ColumnSums)(shape, x, sums);
}

void column_squares(PoolShape shape, const float* x, const float* mean, float* sums) {
  HWY_DYNAMIC_DISPATCH(ColumnSquares)(shape, x, mean, sums);
}

void relu_pool(PoolShape shape, const float* x, const float* scale, const float* shift,
               float* pooled, Winners winners) {
  HWY_DYNAMIC_DISPATCH(ReluPool)(shape, x, scale, shift, pooled, winners);
}

void winner_sums(PoolShape shape, const float* d_pooled, Winners winners, const float* mean,
                 float* d_shift, float* d_scale) {
  HWY_DYNAMIC_DISPATCH(WinnerSums)(shape, d_pooled, winners, mean, d_shift, d_scale);
}

void relu_pool_gradient(PoolShape shape, float* x, const float* d_pooled, Winners winners,
                        PoolGradient gradient, float* sums) {
  HWY_DYNAMIC_DISPATCH(ReluPoolGradient)(shape, x, d_pooled, winners, gradient, sums);
}

}  // namespace tessera
#endif  // HWY_ONCE
