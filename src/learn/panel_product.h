// Matrix products (GEMM) whose operands are panels of 32 columns:
//
//   out[row][column] = start[row][column] + sum over k of a[row, k] b[k][column]
//
// A tile of 12 rows by two vectors of sums stays in registers while k runs over a stretch short
// enough that b's part of it stays in the nearest cache for all rows. Each sum is taken in the
// order of k with fused multiply-adds whatever the vector width, so CPUs that have them agree to
// the bit.
#pragma once

#include <cstddef>

namespace tessera {

inline constexpr std::size_t kPanel = 32;

struct PanelProduct {
  std::size_t rows = 0, count = 0;
  // a[row, k] is at [row][k % 32] of the panel k / 32, or at [k % 32][row] if `a` is turned. How
  // far apart rows are must be known when this is compiled: twelve pointers do not fit the
  // registers.
  const float* a = nullptr;
  std::size_t a_panel = 0;  // Numbers from one panel to the next.
  bool a_turned = false;
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
