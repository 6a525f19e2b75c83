// bf16: the upper half of a float32, eight bits of whose fraction are left. Where a product's
// factors are rounded to it, AVX-512 BF16 multiplies two pairs where float32 multiplies one, and
// adds them to a float32:
//
//   sum += a[2 i + 1] b[2 i + 1]; sum += a[2 i] b[2 i]
//
// each by a fused multiply-add. So both factors lie in pairs of what the sum runs over. Parameters,
// activations and sums stay float32. Rounding is to the nearest, ties to even; what is too small
// for float32's own fractions (1e-38) becomes zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learn/floats.h"

namespace tessera {

using Bf16 = std::uint16_t;  // Its bits.
using Bf16s64 = std::vector<Bf16, LineAllocator<Bf16>>;

// Whether this CPU, and the one this was compiled for, have what the functions below need.
bool has_bf16();

namespace bf16 {

void round_all(std::size_t count, const float* from, Bf16* to);

// Pairs of rows: to[row / 2][column][row % 2]. A last row without a partner is paired with zeros.
void pair_rows(std::size_t rows, std::size_t columns, const float* from, Bf16* to);

// c[row][column] = sum over k of a[row, k] b[k, column], k in pairs.
struct PairProduct {
  std::size_t rows = 0, columns = 0, pairs = 0;  // `columns` must be a multiple of 16.
  const Bf16* a = nullptr;
  std::size_t a_row = 0, a_pair = 0;  // Numbers from row to row, from pair to pair.
  const Bf16* b = nullptr;            // [pairs][columns][2]
  float* c = nullptr;
};
void multiply(const PairProduct& product);

}  // namespace bf16

// The plain loops the fast versions are held to.
namespace plain {
Bf16 to_bf16(float value);
float from_bf16(Bf16 value);
void pair_rows(std::size_t rows, std::size_t columns, const float* from, Bf16* to);
void multiply(const bf16::PairProduct& product);
}  // namespace plain

}  // namespace tessera
