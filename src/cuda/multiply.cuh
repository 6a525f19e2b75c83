// Products of small tiles, a warp at a time, on the tensor cores. A warp holds kRows x 16 rows and
// kColumns x 8 columns of sums, and takes eight terms of each in one call.
//
// Lane l of a warp is at (g, t) = (l / 4, l % 4) of the tile, as mma.m16n8k8 lays it out:
//
//   a[0..3]     row g or g + 8 (odd), term t or t + 4 (2 and 3)
//   b[0..1]     column g, term t or t + 4
//   sums[0..3]  row g or g + 8 (2 and 3), column 2 t or 2 t + 1 (odd)
//
// TF32 keeps 11 of a float's 24 bits. 3xTF32 writes x as big + small, both of them TF32, and adds
// small b, a small and big b: what is left out is 2^-22 of a product. The tensor cores cut a sum
// off where float32 rounds it, so in 3xTF32 they sum up at most 32 terms, and such sums are added
// by add_to().
#pragma once

#include <cstdint>

#include "cuda/instructions.cuh"
#include "cuda/kernels.h"

namespace tessera::cuda {

template <int kRows, int kColumns>
struct WarpSums {
  float at[kRows][kColumns][4] = {};
};

template <int kRows, int kColumns>
__device__ inline void add_to(WarpSums<kRows, kColumns>& sums,
                              const WarpSums<kRows, kColumns>& more) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int n = 0; n < 4; ++n) sums.at[i][j][n] += more.at[i][j][n];
}

struct Lane {
  int g = (threadIdx.x % 32) / 4, t = threadIdx.x % 4;
};

struct Split {
  std::uint32_t big, small;
};

// Rounds to the nearest TF32, so that what is left has either sign and its own loss no bias.
__device__ inline Split split(float x) {
  const std::uint32_t big = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  return {big, __float_as_uint(x - __uint_as_float(big))};
}

template <int kCount>
struct Parts {
  std::uint32_t big[kCount], small[kCount];
  __device__ Parts() {}
  __device__ explicit Parts(const float (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Split parts = split(values[i]);
      big[i] = parts.big;
      small[i] = parts.small;
    }
  }
};

// load_a(row tile, a) and load_b(column tile, b) fill fragments as above. Which of the eight terms
// a lane's two stand for is the loaders' choice, as long as both make the same.
template <Precision kPrecision, int kRows, int kColumns, typename LoadA, typename LoadB>
__device__ inline void add_tensor(WarpSums<kRows, kColumns>& sums, LoadA load_a, LoadB load_b) {
  float a[kRows][4], b[kColumns][2];
#pragma unroll
  for (int i = 0; i < kRows; ++i) load_a(i, a[i]);
#pragma unroll
  for (int j = 0; j < kColumns; ++j) load_b(j, b[j]);
  if constexpr (kPrecision == Precision::kTf32) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      std::uint32_t one[4];
      for (int n = 0; n < 4; ++n) one[n] = __float_as_uint(a[i][n]) + 0x1000u;
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        mma(sums.at[i][j], one,
            {__float_as_uint(b[j][0]) + 0x1000u, __float_as_uint(b[j][1]) + 0x1000u});
    }
  } else {
    Parts<4> left[kRows];
    Parts<2> right[kColumns];
#pragma unroll
    for (int i = 0; i < kRows; ++i) left[i] = Parts<4>(a[i]);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) right[j] = Parts<2>(b[j]);
      // One product of every tile, then the next: what adds to the same sum lies far apart.
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int i = 0; i < kRows; ++i) mma(sums.at[i][j], left[i].small, right[j].big);
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int i = 0; i < kRows; ++i) mma(sums.at[i][j], left[i].big, right[j].small);
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
#pragma unroll
      for (int i = 0; i < kRows; ++i) mma(sums.at[i][j], left[i].big, right[j].big);
  }
}

// The same sums in plain float32: at_a(row tile, 0 or 1 for rows g and g + 8, term), at_b(term,
// column).
template <int kRows, int kColumns, typename AtA, typename AtB>
__device__ inline void add_plain(WarpSums<kRows, kColumns>& sums, AtA at_a, AtB at_b) {
  const Lane lane;
#pragma unroll
  for (int term = 0; term < 8; ++term) {
    float a[kRows][2], b[kColumns][2];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      for (int half = 0; half < 2; ++half) a[i][half] = at_a(i, half, term);
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      for (int odd = 0; odd < 2; ++odd) b[j][odd] = at_b(term, 8 * j + 2 * lane.t + odd);
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          sums.at[i][j][n] = fmaf(a[i][n / 2], b[j][n % 2], sums.at[i][j][n]);
  }
}

}  // namespace tessera::cuda
