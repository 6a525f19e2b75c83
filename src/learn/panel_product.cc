#include "learn/panel_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/panel_product.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Capped, so that a panel is a whole number of tiles on every CPU.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());
// Sums that fit the registers with two vectors of b and a broadcast beside them: 32 registers come
// with vectors of 16, sixteen with smaller ones.
constexpr std::size_t kRows = kLanes == 16 ? 12 : 4;
// So many of b's rows are 16 KiB, half of the nearest cache.
constexpr std::size_t kStretch = 128;
// Where b is used once, as in the step of a recurrent net, it comes from the second cache; asked
// for this many rows ahead it arrives in time.
constexpr std::size_t kAhead = 8;

// What the inner loop must know when it is compiled.
template <bool turned, bool once>
struct Kind {
  static constexpr std::size_t kARow = turned ? 1 : kPanel, kAStep = turned ? kPanel : 1;
  static constexpr bool kOnce = once;  // b is used once.
};

// Two vectors of columns of `rows` rows. One flat loop nest without branches around it: the
// compiler then keeps all sums in registers.
template <typename Kind, std::size_t rows>
HWY_INLINE void multiply_tile(const PanelProduct& p) {
  const Floats d;
  FloatVector left[rows], right[rows];
  for (std::size_t r = 0; r < rows; ++r) {
    left[r] = hn::LoadU(d, p.start + r * p.start_row);
    right[r] = hn::LoadU(d, p.start + r * p.start_row + kLanes);
  }
  const float* HWY_RESTRICT b = p.b;
  const float* panel = p.a;
  for (std::size_t k = 0; k < p.count; k += kPanel, panel += p.a_panel) {
    const float* HWY_RESTRICT a = panel;
    for (std::size_t n = std::min(kPanel, p.count - k); n > 0; --n, b += kPanel) {
      const auto b_left = hn::LoadU(d, b), b_right = hn::LoadU(d, b + kLanes);
      if constexpr (Kind::kOnce) {
        hwy::Prefetch(b + kAhead * kPanel);
        hwy::Prefetch(b + kAhead * kPanel + kLanes);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        const auto value = hn::Set(d, a[r * Kind::kARow]);
        left[r] = hn::MulAdd(value, b_left, left[r]);
        right[r] = hn::MulAdd(value, b_right, right[r]);
      }
      a += Kind::kAStep;
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    hn::StoreU(left[r], d, p.out + r * p.out_row);
    hn::StoreU(right[r], d, p.out + r * p.out_row + kLanes);
  }
}

// The tile of the last rows, fewer than kRows.
template <typename Kind, std::size_t rows = kRows - 1>
HWY_INLINE void multiply_last(std::size_t left, const PanelProduct& p) {
  if (left == rows) return multiply_tile<Kind, rows>(p);
  if constexpr (rows > 1) multiply_last<Kind, rows - 1>(left, p);
}

// All rows, for a stretch of k.
template <typename Kind>
HWY_INLINE void multiply_stretch(const PanelProduct& p) {
  for (std::size_t row = 0; row < p.rows; row += kRows)
    for (std::size_t column = 0; column < kPanel; column += 2 * kLanes) {
      PanelProduct tile = p;
      if (p.count > 0) {  // Without any k there need not be an a and a b.
        tile.a += row * Kind::kARow;
        tile.b += column;
      }
      tile.start += row * p.start_row + column;
      tile.out += row * p.out_row + column;
      if (row + kRows <= p.rows)
        multiply_tile<Kind, kRows>(tile);
      else
        multiply_last<Kind>(p.rows - row, tile);
    }
}

template <bool turned>
HWY_INLINE void multiply_all(const PanelProduct& whole) {
  if (whole.rows <= kRows) return multiply_stretch<Kind<turned, true>>(whole);
  PanelProduct part = whole;
  std::size_t k = 0;
  do {  // Once at least: without any k, out is the start.
    part.count = std::min(kStretch, whole.count - k);
    part.a = whole.a + k / kPanel * whole.a_panel;
    part.b = whole.b + k * kPanel;
    multiply_stretch<Kind<turned, false>>(part);
    part.start = whole.out;
    part.start_row = whole.out_row;
  } while ((k += kStretch) < whole.count);
}

void Multiply(const PanelProduct& product) {
  product.a_turned ? multiply_all<true>(product) : multiply_all<false>(product);
}

// Four rows by four columns at a time.
void Transpose(const float* from, float* to) {
#if HWY_TARGET == HWY_SCALAR
  plain::transpose(from, to);
#else
  const hn::FixedTag<float, 4> d;
  for (std::size_t row = 0; row < kPanel; row += 4)
    for (std::size_t column = 0; column < kPanel; column += 4) {
      const float* const in = from + row * kPanel + column;
      const auto r0 = hn::LoadU(d, in), r1 = hn::LoadU(d, in + kPanel);
      const auto r2 = hn::LoadU(d, in + 2 * kPanel), r3 = hn::LoadU(d, in + 3 * kPanel);
      const auto even_low = hn::InterleaveLower(d, r0, r2),
                 odd_low = hn::InterleaveLower(d, r1, r3);
      const auto even_high = hn::InterleaveUpper(d, r0, r2);
      const auto odd_high = hn::InterleaveUpper(d, r1, r3);
      float* const out = to + column * kPanel + row;
      hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
      hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + kPanel);
      hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * kPanel);
      hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * kPanel);
    }
#endif
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Multiply);
HWY_EXPORT(Transpose);

void multiply(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(Multiply)(product);
}

void transpose(const float* from, float* to) {
  HWY_DYNAMIC_DISPATCH(Transpose)(from, to);
}

namespace plain {

void multiply(const PanelProduct& p) {
  for (std::size_t row = 0; row < p.rows; ++row)
    for (std::size_t column = 0; column < kPanel; ++column) {
      float sum = p.start[row * p.start_row + column];
      for (std::size_t k = 0; k < p.count; ++k) {
        const float* const panel = p.a + k / kPanel * p.a_panel;
        const float a =
            p.a_turned ? panel[k % kPanel * kPanel + row] : panel[row * kPanel + k % kPanel];
        sum += a * p.b[k * kPanel + column];
      }
      p.out[row * p.out_row + column] = sum;
    }
}

void transpose(const float* from, float* to) {
  for (std::size_t row = 0; row < kPanel; ++row)
    for (std::size_t column = 0; column < kPanel; ++column)
      to[column * kPanel + row] = from[row * kPanel + column];
}

}  // namespace plain
}  // namespace tessera
#endif  // HWY_ONCE
