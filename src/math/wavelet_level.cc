#include "math/wavelet_level.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/wavelet_level.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "base/check.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// 32-byte vectors even where 64 are to be had: neither end of a level is aligned, and twice as many
// of the wider loads and stores straddle two cache lines. On a Zen 4 the inverse is a tenth faster
// this way.
using Floats = hn::CappedTag<float, 8>;

// The filters as local copies, which the compiler knows no store can change: it keeps them in
// registers.
template <int kPairs>
struct Taps {
  float lo[2 * kPairs], hi[2 * kPairs];
  Taps(const float* lo_taps, const float* hi_taps) {
    for (int j = 0; j < 2 * kPairs; ++j) lo[j] = lo_taps[j], hi[j] = hi_taps[j];
  }
};

// A stretch of 2 Lanes inputs is loaded split into even and odd places; tap j = 2p wants the odd
// places p pairs back, tap 2p + 1 the even ones. kPairs = F / 2 is a template argument so that the
// taps' loop unrolls.
template <int kPairs>
void analyse_pairs(const float* lo_taps, const float* hi_taps, const float* x, float* coarse,
                   float* fine, std::size_t first, std::size_t last) {
  const auto& [lo, hi] = Taps<kPairs>(lo_taps, hi_taps);
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = first;
  for (; k + lanes <= last; k += lanes) {
    hn::Vec<Floats> even, odd;
    hn::LoadInterleaved2(d, x + 2 * k, even, odd);
    auto a = hn::Add(hn::Mul(hn::Set(d, lo[0]), odd), hn::Mul(hn::Set(d, lo[1]), even));
    auto b = hn::Add(hn::Mul(hn::Set(d, hi[0]), odd), hn::Mul(hn::Set(d, hi[1]), even));
    for (int p = 1; p < kPairs; ++p) {
      hn::LoadInterleaved2(d, x + 2 * k - 2 * p, even, odd);
      a = hn::Add(a, hn::Mul(hn::Set(d, lo[2 * p]), odd));
      b = hn::Add(b, hn::Mul(hn::Set(d, hi[2 * p]), odd));
      a = hn::Add(a, hn::Mul(hn::Set(d, lo[2 * p + 1]), even));
      b = hn::Add(b, hn::Mul(hn::Set(d, hi[2 * p + 1]), even));
    }
    hn::StoreU(a, d, coarse + k);
    hn::StoreU(b, d, fine + k);
  }
  for (; k < last; ++k) {
    float a = lo[0] * x[2 * k + 1], b = hi[0] * x[2 * k + 1];
    for (int j = 1; j < 2 * kPairs; ++j) {
      a += lo[j] * x[2 * k + 1 - j];
      b += hi[j] * x[2 * k + 1 - j];
    }
    coarse[k] = a;
    fine[k] = b;
  }
}

// One output pair, for the tail: even places take taps F - 2 - 2p, odd ones F - 1 - 2p.
template <int kPairs>
HWY_INLINE float synthesise_one(const float* lo, const float* hi, const float* coarse,
                                const float* fine, int parity) {
  float y = 0;
  for (int p = 0; p < kPairs; ++p) {
    const int tap = 2 * kPairs - 2 - 2 * p + parity;
    y = p == 0 ? lo[tap] * coarse[p] : y + lo[tap] * coarse[p];
    y += hi[tap] * fine[p];
  }
  return y;
}

template <int kPairs>
void synthesise_pairs(const float* lo_taps, const float* hi_taps, const float* coarse,
                      const float* fine, float* y, std::size_t count) {
  const auto& [lo, hi] = Taps<kPairs>(lo_taps, hi_taps);
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int kFirst = 2 * kPairs - 2;
  std::size_t m = 0;
  for (; 2 * (m + lanes) <= count; m += lanes) {
    auto a = hn::LoadU(d, coarse + m);
    auto b = hn::LoadU(d, fine + m);
    auto even = hn::Add(hn::Mul(hn::Set(d, lo[kFirst]), a), hn::Mul(hn::Set(d, hi[kFirst]), b));
    auto odd =
        hn::Add(hn::Mul(hn::Set(d, lo[kFirst + 1]), a), hn::Mul(hn::Set(d, hi[kFirst + 1]), b));
    for (int p = 1; p < kPairs; ++p) {
      const int tap = kFirst - 2 * p;
      a = hn::LoadU(d, coarse + m + p);
      b = hn::LoadU(d, fine + m + p);
      even = hn::Add(even, hn::Mul(hn::Set(d, lo[tap]), a));
      odd = hn::Add(odd, hn::Mul(hn::Set(d, lo[tap + 1]), a));
      even = hn::Add(even, hn::Mul(hn::Set(d, hi[tap]), b));
      odd = hn::Add(odd, hn::Mul(hn::Set(d, hi[tap + 1]), b));
    }
    hn::StoreInterleaved2(even, odd, d, y + 2 * m);
  }
  for (std::size_t i = 2 * m; i < count; ++i)
    y[i] = synthesise_one<kPairs>(lo, hi, coarse + i / 2, fine + i / 2, static_cast<int>(i % 2));
}

void Analyse(int pairs, const float* lo, const float* hi, const float* x, float* coarse,
             float* fine, std::size_t first, std::size_t last) {
  switch (pairs) {
    case 1:
      return analyse_pairs<1>(lo, hi, x, coarse, fine, first, last);
    case 2:
      return analyse_pairs<2>(lo, hi, x, coarse, fine, first, last);
    case 3:
      return analyse_pairs<3>(lo, hi, x, coarse, fine, first, last);
    default:
      return analyse_pairs<4>(lo, hi, x, coarse, fine, first, last);
  }
}

void Synthesise(int pairs, const float* lo, const float* hi, const float* coarse, const float* fine,
                float* y, std::size_t count) {
  switch (pairs) {
    case 1:
      return synthesise_pairs<1>(lo, hi, coarse, fine, y, count);
    case 2:
      return synthesise_pairs<2>(lo, hi, coarse, fine, y, count);
    case 3:
      return synthesise_pairs<3>(lo, hi, coarse, fine, y, count);
    default:
      return synthesise_pairs<4>(lo, hi, coarse, fine, y, count);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Analyse);
HWY_EXPORT(Synthesise);

void analyse_inside(std::span<const float> lo, std::span<const float> hi, const float* x,
                    float* coarse, float* fine, std::size_t first, std::size_t last) {
  CHECK(lo.size() % 2 == 0);
  CHECK(lo.size() <= 8);
  HWY_DYNAMIC_DISPATCH(Analyse)
  (static_cast<int>(lo.size() / 2), lo.data(), hi.data(), x, coarse, fine, first, last);
}

void synthesise(std::span<const float> back_lo, std::span<const float> back_hi, const float* coarse,
                const float* fine, float* y, std::size_t count) {
  CHECK(back_lo.size() % 2 == 0);
  CHECK(back_lo.size() <= 8);
  HWY_DYNAMIC_DISPATCH(Synthesise)
  (static_cast<int>(back_lo.size() / 2), back_lo.data(), back_hi.data(), coarse, fine, y, count);
}

}  // namespace tessera
#endif  // HWY_ONCE
