#include "learn/bf16.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "learn/bf16_tile.h"

#if TESSERA_HAS_BF16

TESSERA_BF16_BEGIN
namespace tessera::bf16 {

void round_all(std::size_t count, const float* from, Bf16* to) {
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto both = reinterpret_cast<__m512i>(
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + kLanes), _mm512_loadu_ps(from + i)));
    _mm512_storeu_si512(to + i, both);
  }
  for (; i < count; i += kLanes) {
    const std::size_t left = count - i < kLanes ? count - i : kLanes;
    const auto some = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(load_some(left, from + i)));
    _mm256_mask_storeu_epi16(to + i, static_cast<__mmask16>((1u << left) - 1), some);
  }
}

void pair_rows(std::size_t rows, std::size_t columns, const float* from, Bf16* to) {
  std::size_t row = 0;
  for (; row + 2 <= rows; row += 2, from += 2 * columns, to += 2 * columns)
    pair_two(columns, from, from + columns, to);
  if (row < rows) pair_two(columns, from, nullptr, to);
}

void multiply(const PairProduct& p) {
  for_columns(p.columns, [&](std::size_t column, auto vectors) {
    for_rows(p.rows, [&](std::size_t row, auto rows) {
      Tile<rows(), vectors()> tile;
      tile.fill(nullptr);
      tile.accumulate({p.a + row * p.a_row, p.a_row, p.a_pair}, p.b + 2 * column, 2 * p.columns,
                      p.pairs);
      tile.store(p.c + row * p.columns + column, p.columns);
    });
  });
}

}  // namespace tessera::bf16
TESSERA_BF16_END

namespace tessera {

bool has_bf16() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace tessera

#else  // TESSERA_HAS_BF16

namespace tessera {

bool has_bf16() {
  return false;
}

namespace bf16 {

void round_all(std::size_t, const float*, Bf16*) {
  CHECK(has_bf16());
}
void pair_rows(std::size_t, std::size_t, const float*, Bf16*) {
  CHECK(has_bf16());
}
void multiply(const PairProduct&) {
  CHECK(has_bf16());
}

}  // namespace bf16
}  // namespace tessera

#endif  // TESSERA_HAS_BF16

namespace tessera::plain {

Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // The lower half of a NaN may be all that makes it one.
  if (std::isnan(value)) return static_cast<Bf16>(bits >> 16 | 0x40);
  return static_cast<Bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

void pair_rows(std::size_t rows, std::size_t columns, const float* from, Bf16* to) {
  for (std::size_t row = 0; row < (rows + 1) / 2 * 2; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      to[(row / 2 * columns + column) * 2 + row % 2] =
          row < rows ? to_bf16(from[row * columns + column]) : Bf16{0};
}

void multiply(const bf16::PairProduct& p) {
  for (std::size_t row = 0; row < p.rows; ++row)
    for (std::size_t column = 0; column < p.columns; ++column) {
      float sum = 0;
      for (std::size_t i = 0; i < p.pairs; ++i)
        for (const std::size_t k : {1u, 0u})
          sum = std::fma(from_bf16(p.a[row * p.a_row + i * p.a_pair + k]),
                         from_bf16(p.b[(i * p.columns + column) * 2 + k]), sum);
      p.c[row * p.columns + column] = sum;
    }
}

}  // namespace tessera::plain
