// Products of numbers that are written as pairs of halves, a warp at a time, on the tensor cores: x
// = (big + small) / scale, both with 11 bits. As in 3xTF32, small b, a small and big b are added
// and 2^-22 of a product is left out; but tensor cores multiply halves at twice the rate, and what
// was split once is not split anew for every product.
//
// The scale, a power of two, brings the largest number of a tensor to between 2^13 and 2^14. Halves
// end at 2^-24. So numbers down to 2^-15 of the largest err by at most 2^-23 of themselves; below
// that, by at most 2^-38 of the largest. The larger half alone has its 11 bits down to 2^-27.
//
// Lane l of a warp is at (g, t) = (l / 4, l % 4), as mma.m16n8k16 lays it out:
//
//   a[0..3]     row g or g + 8 (odd), terms 2 t and 2 t + 1, or eight further (2 and 3)
//   b[0..1]     column g, the same terms
//   sums[0..3]  row g or g + 8 (2 and 3), column 2 t or 2 t + 1 (odd)
//
// The tensor cores cut a sum off where float32 rounds it, so they sum up at most 32 terms, and such
// sums are added by add_to().
#pragma once

#include <cuda_fp16.h>

#include "cuda/multiply.cuh"

namespace tessera::cuda {

constexpr int kHalf = 2, kFloat = 4, kBlock = 16;  // Bytes; kBlock: of a row of 8x8 halves.
constexpr int kPad = 4;  // Floats after a row of shared memory: eight rows lie in different banks.
constexpr int kLargestExponent = 13;  // Of scaled numbers: halves end at 2^16.

struct Scale {
  float up = 1, unit = 1;
};

__device__ inline float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

// What is not finite stays so, whatever the scale.
__device__ inline Scale scale_for(float largest) {
  if (!(largest > 0) || isinf(largest)) return {};
  const int exponent = max((__float_as_int(largest) >> 23) - 127, -100);
  return {power_of_two(kLargestExponent - exponent), power_of_two(exponent - kLargestExponent)};
}

// Of all threads of the block. Ends with a barrier, so that it may be called again.
__device__ inline float block_max(float own) {
  __shared__ float of_warps[32];
  for (int far = 16; far > 0; far /= 2) own = fmaxf(own, __shfl_xor_sync(0xffffffff, own, far));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = threadIdx.x % 32 < blockDim.x / 32 ? of_warps[threadIdx.x % 32] : 0;
  for (int far = 16; far > 0; far /= 2) own = fmaxf(own, __shfl_xor_sync(0xffffffff, own, far));
  __syncthreads();
  return own;
}
__device__ inline float largest_of(float4 x) {
  return fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
}

// Four numbers as pairs: the larger halves to `at`, the smaller ones `group` further.
__device__ inline void store_pairs(float4 x, float up, int group, half* at) {
  alignas(uint2) const half2 big[2] = {__floats2half2_rn(x.x * up, x.y * up),
                                       __floats2half2_rn(x.z * up, x.w * up)};
  alignas(uint2) const half2 small[2] = {
      __floats2half2_rn(x.x * up - __low2float(big[0]), x.y * up - __high2float(big[0])),
      __floats2half2_rn(x.z * up - __low2float(big[1]), x.w * up - __high2float(big[1]))};
  *reinterpret_cast<uint2*>(at) = *reinterpret_cast<const uint2*>(big);
  *reinterpret_cast<uint2*>(at + group) = *reinterpret_cast<const uint2*>(small);
}

// The factors of 16 terms of kColumns tiles of eight columns: big[j / 2] has those of columns j and
// j + 1, two registers each.
template <int kColumns>
struct RightPairs {
  std::uint32_t big[kColumns / 2][4], small[kColumns / 2][4];
};

template <int kColumns>
__device__ inline void add_halves(const std::uint32_t (&a)[4],
                                  const std::uint32_t (&right)[kColumns / 2][4],
                                  float (&sums)[kColumns][4]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j)
    mma_halves(sums[j], a, right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
}

// sums += a b for one tile of 16 rows. With 11 bits of each factor the smaller halves are left out.
template <Precision kPrecision, int kColumns>
__device__ inline void add_pairs(const std::uint32_t (&big)[4], const std::uint32_t (&small)[4],
                                 const RightPairs<kColumns>& right, float (&sums)[kColumns][4]) {
  if constexpr (kPrecision != Precision::kTf32) {
    add_halves<kColumns>(small, right.big, sums);
    add_halves<kColumns>(big, right.small, sums);
  }
  add_halves<kColumns>(big, right.big, sums);
}

// The same where a and what belongs to it on the right have larger and smaller halves side by side.
template <Precision kPrecision, int kColumns>
__device__ inline void add_mixed(const std::uint32_t (&a)[4], const RightPairs<kColumns>& right,
                                 float (&sums)[kColumns][4]) {
  if constexpr (kPrecision != Precision::kTf32) add_halves<kColumns>(a, right.small, sums);
  add_halves<kColumns>(a, right.big, sums);
}

template <int kColumns>
__device__ inline void add_row(float (&sums)[kColumns][4], const float (&more)[kColumns][4]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j)
#pragma unroll
    for (int n = 0; n < 4; ++n) sums[j][n] += more[j][n];
}

}  // namespace tessera::cuda
