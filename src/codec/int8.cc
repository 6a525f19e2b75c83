#include "codec/int8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/splitmix.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr float kLevels = 127;
constexpr std::int8_t kNotFinite = -128;
// The largest scale whose 127-fold is still finite.
constexpr float kScaleMax = 0x1.020406p+121f;

std::size_t blocks_of(std::size_t count) {
  return (count + kInt8Block - 1) / kInt8Block;
}

constexpr std::int32_t kInfinityBits = 0x7f800000;

// |value| as an integer. Magnitudes compare as their bits do.
inline std::int32_t magnitude_bits(float value) {
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
}

inline bool is_finite(float value) {
  return magnitude_bits(value) < kInfinityBits;
}

// The smallest scale of which no finite value is more than 127: peak / 127 rounded up, which
// matters among denormals, where rounding down would cut the peak off.
float scale_of(std::span<const float> block) {
  // In integers, because the compiler may not reorder a maximum of floats, and so not vectorize it.
  std::int32_t peak_bits = 0;
  for (const float value : block)
    peak_bits = std::max(peak_bits, is_finite(value) ? magnitude_bits(value) : 0);
  const auto peak = std::bit_cast<float>(peak_bits);
  float scale = peak / kLevels;
  if (static_cast<double>(scale) * kLevels < peak)
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return std::min(scale, kScaleMax);
}

// floor(value / scale + u) with u uniform in [0, 1), in fixed point with 24 bits after the point:
// 127 and u together just fit 32 bits.
inline std::int8_t round_at_random(float value, float scale, std::int32_t u) {
  constexpr float kOne = 1 << 24;
  const float levels = is_finite(value) ? value / scale : 0;
  const float within = std::clamp(levels, -kLevels, kLevels);
  const std::int32_t whole = (static_cast<std::int32_t>(within * kOne) + u) >> 24;
  return static_cast<std::int8_t>(is_finite(value) ? whole : kNotFinite);
}

// Value number `first` + i of the message rounds by output number `first` + i of the generator.
void encode_block(std::span<const float> block, float scale, std::uint64_t seed, std::size_t first,
                  std::byte* out) {
  std::array<std::int32_t, kInt8Block> draws;
  for (std::size_t i = 0; i < kInt8Block; ++i)
    draws[i] = static_cast<std::int32_t>(splitmix64(seed, first + i) >> 40);
  // With a scale of zero all finite values are zero, and 0 / 1 is 0.
  const float divisor = scale > 0 ? scale : 1;
  for (std::size_t i = 0; i < block.size(); ++i)
    out[i] = static_cast<std::byte>(round_at_random(block[i], divisor, draws[i]));
}

void decode_block(const std::byte* in, float scale, std::span<float> block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto whole = static_cast<std::int8_t>(in[i]);
    const float value = static_cast<float>(whole) * scale;
    block[i] = whole == kNotFinite ? std::numeric_limits<float>::quiet_NaN() : value;
  }
}

}  // namespace

std::size_t int8_bound(std::size_t count) {
  return blocks_of(count) * sizeof(float) + count;
}

std::uint64_t int8_values_max(std::size_t bytes) {
  return bytes;
}

void encode_int8(std::span<const float> values, const Random& rounding, Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + int8_bound(values.size()));
  std::byte* const scales = out.data() + start;
  std::byte* const wholes = scales + blocks_of(values.size()) * sizeof(float);
  const std::uint64_t seed = rounding.fork("int8").bits64();
  for (std::size_t b = 0; b < blocks_of(values.size()); ++b) {
    const std::size_t at = b * kInt8Block;
    const auto block = values.subspan(at, std::min(kInt8Block, values.size() - at));
    const float scale = scale_of(block);
    std::memcpy(scales + b * sizeof scale, &scale, sizeof scale);
    encode_block(block, scale, seed, at, wholes + at);
  }
}

Result<void> decode_int8(ByteSpan payload, std::span<float> values) {
  if (auto whole = expect_bytes(payload, int8_bound(values.size())); !whole) return whole;
  ByteReader scales(payload.first(blocks_of(values.size()) * sizeof(float)));
  const std::byte* const wholes = payload.data() + scales.left();
  for (std::size_t at = 0; at < values.size(); at += kInt8Block) {
    const auto scale = scales.get<float>();
    if (!(scale >= 0 && scale <= kScaleMax) || std::signbit(scale))
      return Error{"values", fmt::format("a scale of {} cannot be", scale)};
    decode_block(wholes + at, scale, values.subspan(at, std::min(kInt8Block, values.size() - at)));
  }
  return {};
}

}  // namespace tessera
