// The tile of sums that the bf16 kernels share: rows by one or two vectors of 16 sums stay in
// registers while pairs are multiplied and added. Only for files compiled for AVX-512 BF16 between
// TESSERA_BF16_BEGIN and TESSERA_BF16_END, as this one is.
#pragma once

#include <cstddef>
#include <type_traits>

#include "learn/bf16.h"

#if defined(__x86_64__)
#define TESSERA_HAS_BF16 1
#else
#define TESSERA_HAS_BF16 0
#endif

#if TESSERA_HAS_BF16
#include <hwy/base.h>
#include <immintrin.h>

#include <cstring>

#define TESSERA_BF16_BEGIN \
  HWY_PUSH_ATTRIBUTES("avx2,fma,bmi,bmi2,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")
#define TESSERA_BF16_END HWY_POP_ATTRIBUTES

TESSERA_BF16_BEGIN
namespace tessera::bf16 {

template <std::size_t n>
using Int = std::integral_constant<std::size_t, n>;

constexpr std::size_t kLanes = 16;
constexpr std::size_t kRows = 8;  // Two vectors each: half of the registers hold sums.

HWY_INLINE __m512 load_some(std::size_t count, const float* from) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
}

// Two rows of up to 16 columns side by side.
HWY_INLINE __m512i pair(__m512 even, __m512 odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
  return _mm512_permutexvar_epi16(order, both);
}

// Two rows, to[column][row]. Either may be null: zeros.
HWY_INLINE void pair_two(std::size_t columns, const float* even, const float* odd, Bf16* to) {
  for (std::size_t c = 0; c < columns; c += kLanes) {
    const std::size_t count = columns - c < kLanes ? columns - c : kLanes;
    const __m512i both = pair(even ? load_some(count, even + c) : _mm512_setzero_ps(),
                              odd ? load_some(count, odd + c) : _mm512_setzero_ps());
    _mm512_mask_storeu_epi32(to + 2 * c, static_cast<__mmask16>((1u << count) - 1), both);
  }
}

// Where the pair (row, i) is: data + row * row_step + i * pair_step.
struct Pairs {
  const Bf16* data;
  std::size_t row_step, pair_step;
};

template <std::size_t rows, std::size_t vectors>
struct Tile {
  __m512 sums[rows][vectors];

  // Written out: GCC makes its own for the baseline's instructions, not these.
  HWY_INLINE Tile() {}
  HWY_INLINE void fill(const float* values) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const __m512 value = values ? _mm512_loadu_ps(values + v * kLanes) : _mm512_setzero_ps();
      for (std::size_t r = 0; r < rows; ++r) sums[r][v] = value;
    }
  }
  HWY_INLINE void load(const float* from, std::size_t row_step) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[r][v] = _mm512_loadu_ps(from + r * row_step + v * kLanes);
  }
  HWY_INLINE void store(float* to, std::size_t row_step) const {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        _mm512_storeu_ps(to + r * row_step + v * kLanes, sums[r][v]);
  }
  // `b` walks by `b_step` numbers from pair to pair.
  HWY_INLINE void accumulate(Pairs a, const Bf16* HWY_RESTRICT b, std::size_t b_step,
                             std::size_t count) {
    const Bf16* HWY_RESTRICT left = a.data;
    for (std::size_t k = 0; k < count; ++k, left += a.pair_step, b += b_step) {
      __m512i right[vectors];
      for (std::size_t v = 0; v < vectors; ++v) right[v] = _mm512_loadu_si512(b + 2 * v * kLanes);
      for (std::size_t r = 0; r < rows; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, left + r * a.row_step, sizeof(pair));
        const __m512i value = _mm512_set1_epi32(pair);
        for (std::size_t v = 0; v < vectors; ++v)
          sums[r][v] = _mm512_dpbf16_ps(sums[r][v], reinterpret_cast<__m512bh>(value),
                                        reinterpret_cast<__m512bh>(right[v]));
      }
    }
  }
};

// Calls body(row, Int<rows>) for the last rows, fewer than a tile's.
template <std::size_t rows, typename Body>
HWY_INLINE void for_last_rows(std::size_t left, std::size_t row, Body body) {
  if (left == rows) return body(row, Int<rows>());
  if constexpr (rows > 1) for_last_rows<rows - 1>(left, row, body);
}

// Calls body(first row, Int<rows in the tile>): whole tiles first, then what is left as one.
template <typename Body>
HWY_INLINE void for_rows(std::size_t count, Body body) {
  std::size_t row = 0;
  for (; row + kRows <= count; row += kRows) body(row, Int<kRows>());
  for_last_rows<kRows - 1>(count - row, row, body);
}

// Calls body(first column, Int<vectors in the tile>). There are sixteens of columns.
template <typename Body>
HWY_INLINE void for_columns(std::size_t count, Body body) {
  std::size_t column = 0;
  for (; column + 2 * kLanes <= count; column += 2 * kLanes) body(column, Int<2>());
  if (column < count) body(column, Int<1>());
}

}  // namespace tessera::bf16
TESSERA_BF16_END
#endif  // TESSERA_HAS_BF16
