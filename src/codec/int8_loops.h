// The loops of int8_blocks.h. Inlined into functions for one instruction set each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "codec/int8.h"
#include "codec/int8_blocks.h"
#include "codec/splitmix.h"

namespace tessera::int8_loops {

constexpr float kLevels = 127;
constexpr std::int8_t kNotFinite = -128;
constexpr std::int32_t kInfinityBits = 0x7f800000;

// |value| as an integer. Magnitudes compare as their bits do.
[[gnu::always_inline]] inline std::int32_t magnitude_bits(float value) {
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
}

[[gnu::always_inline]] inline bool is_finite(float value) {
  return magnitude_bits(value) < kInfinityBits;
}

// The smallest scale of which no finite value is more than 127: peak / 127 rounded up, which
// matters among denormals, where rounding down would cut the peak off.
[[gnu::always_inline]] inline float scale_of(const float* block, std::size_t count) {
  // In integers, because the compiler may not reorder a maximum of floats, and so not vectorize it.
  std::int32_t peak_bits = 0;
  for (std::size_t i = 0; i < count; ++i)
    peak_bits = std::max(peak_bits, is_finite(block[i]) ? magnitude_bits(block[i]) : 0);
  const auto peak = std::bit_cast<float>(peak_bits);
  float scale = peak / kLevels;
  if (static_cast<double>(scale) * kLevels < peak)
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return std::min(scale, kInt8ScaleMax);
}

// floor(value / scale + u) with u uniform in [0, 1), in fixed point with 24 bits after the point:
// 127 and u together just fit 32 bits.
[[gnu::always_inline]] inline std::int8_t round_at_random(float value, float scale,
                                                          std::int32_t u) {
  constexpr float kOne = 1 << 24;
  const float levels = is_finite(value) ? value / scale : 0;
  const float within = std::clamp(levels, -kLevels, kLevels);
  const std::int32_t whole = (static_cast<std::int32_t>(within * kOne) + u) >> 24;
  return static_cast<std::int8_t>(is_finite(value) ? whole : kNotFinite);
}

[[gnu::always_inline]] inline void round_block(const float* block, std::size_t count, float scale,
                                               std::uint64_t seed, std::size_t first,
                                               std::byte* wholes) {
  std::array<std::int32_t, kInt8Block> draws;
  for (std::size_t i = 0; i < kInt8Block; ++i)
    draws[i] = static_cast<std::int32_t>(splitmix64(seed, first + i) >> 40);
  // With a scale of zero all finite values are zero, and 0 / 1 is 0.
  const float divisor = scale > 0 ? scale : 1;
  for (std::size_t i = 0; i < count; ++i)
    wholes[i] = static_cast<std::byte>(round_at_random(block[i], divisor, draws[i]));
}

[[gnu::always_inline]] inline void restore_block(const std::byte* wholes, float scale, float* block,
                                                 std::size_t count) {
  // Bytes may be anything, floats too: of a copy the compiler knows that it is not what is written.
  std::array<std::int8_t, kInt8Block> copied;
  std::memcpy(copied.data(), wholes, count);
  // The choice is made in bits, because the compiler turns one between floats into a branch.
  constexpr auto kNan = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = std::bit_cast<std::uint32_t>(static_cast<float>(copied[i]) * scale);
    const std::uint32_t mask = copied[i] == kNotFinite ? ~0u : 0u;
    block[i] = std::bit_cast<float>((value & ~mask) | (kNan & mask));
  }
}

// Calls `whole(at)` for every block of kInt8Block values, and `rest(at, count)` for the last one if
// it has fewer: loops of a length known beforehand become straight lines of vector instructions.
template <typename Whole, typename Rest>
[[gnu::always_inline]] inline void each_block(std::size_t count, Whole whole, Rest rest) {
  std::size_t at = 0;
  for (; at + kInt8Block <= count; at += kInt8Block) whole(at);
  if (at < count) rest(at, count - at);
}

[[gnu::always_inline]] inline void round_blocks(std::span<const float> values, std::uint64_t seed,
                                                std::byte* scales, std::byte* wholes) {
  const auto one = [&](std::size_t at, std::size_t count) __attribute__((always_inline)) {
    const float scale = scale_of(values.data() + at, count);
    std::memcpy(scales + at / kInt8Block * sizeof scale, &scale, sizeof scale);
    round_block(values.data() + at, count, scale, seed, at, wholes + at);
  };
  each_block(
      values.size(), [&](std::size_t at) __attribute__((always_inline)) { one(at, kInt8Block); },
      one);
}

[[gnu::always_inline]] inline void restore_blocks(const std::byte* scales, const std::byte* wholes,
                                                  std::span<float> values) {
  const auto one = [&](std::size_t at, std::size_t count) __attribute__((always_inline)) {
    float scale = 0;
    std::memcpy(&scale, scales + at / kInt8Block * sizeof scale, sizeof scale);
    restore_block(wholes + at, scale, values.data() + at, count);
  };
  each_block(
      values.size(), [&](std::size_t at) __attribute__((always_inline)) { one(at, kInt8Block); },
      one);
}

}  // namespace tessera::int8_loops
