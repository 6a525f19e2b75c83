// Matrix products (GEMM) whose right side and result are panels of 32 columns:
//
//   out[row][column] = start[row][column] + sum over k of a[row, k] b[k][column]
//
// A tile of 8 rows by two vectors of sums stays in registers while k runs over a stretch short
// enough that b's part of it stays in the nearest cache for all rows. Each sum is taken in the
// order of k with fused multiply-adds whatever the vector width, so CPUs that have them agree to
// the bit.
#pragma once

#include <cstddef>

namespace tessera {

inline constexpr std::size_t kPanel = 32;

// a[row, k] lies at a + row a_row + (k / 32) a_panel + (k % 32) a_k, so `a` may be panels too.
struct PanelProduct {
  std::size_t rows = 0, count = 0;
  const float* a = nullptr;
  std::size_t a_row = 0, a_panel = 0, a_k = 0;
  const float* b = nullptr;  // [count][32]
  const float* start = nullptr;
  std::size_t start_row = 0;  // 0: every row starts from the same 32 numbers.
  float* out = nullptr;       // May be `start`.
  std::size_t out_row = 0;
};
void multiply(const PanelProduct& product);

// to[column][row] = from[row][column], both 32 by 32.
void transpose(const float* from, float* to);

// The plain loops the fast versions are held to.
namespace plain {
void multiply(const PanelProduct& product);
void transpose(const float* from, float* to);
}  // namespace plain

}  // namespace tessera
