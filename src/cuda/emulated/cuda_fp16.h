// Stands in for CUDA's header of this name where the GPU is emulated: halves, and how floats round
// to them.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>

struct half {
  half() = default;
  explicit half(float x);
  std::uint16_t bits;
};
struct alignas(4) half2 {
  half x, y;
};

inline float __half2float(half x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, rest = (x.bits & 0x7fffu) << 13;
  // Infinity and what is no number keep their largest exponent.
  if (rest >= 0x7c00u << 13) return std::bit_cast<float>(sign | 0x7f800000u | rest);
  return std::bit_cast<float>(sign |
                              std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p112f));
}

// To the nearest, of two that are as near to the even one.
inline half __float2half_rn(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), size = bits & 0x7fffffffu;
  half rounded;
  if (size > 0x7f800000u)
    rounded.bits = 0x7fff;
  else if (size >= std::bit_cast<std::uint32_t>(65520.0f))
    rounded.bits = 0x7c00;
  else if (size < std::bit_cast<std::uint32_t>(0x1p-14f))  // Multiples of 2^-24.
    rounded.bits = static_cast<std::uint16_t>(std::nearbyint(std::bit_cast<float>(size) * 0x1p24f));
  else
    rounded.bits =
        static_cast<std::uint16_t>((size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13);
  rounded.bits = static_cast<std::uint16_t>(rounded.bits | (bits >> 16 & 0x8000u));
  return rounded;
}
inline half::half(float x) : half(__float2half_rn(x)) {}

inline half2 __floats2half2_rn(float x, float y) {
  return {__float2half_rn(x), __float2half_rn(y)};
}
inline float __low2float(half2 both) {
  return __half2float(both.x);
}
inline float __high2float(half2 both) {
  return __half2float(both.y);
}
