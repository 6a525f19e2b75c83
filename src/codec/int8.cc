#include "codec/int8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr float kLevels = 127;
constexpr std::int8_t kNotFinite = -128;
// The largest scale whose 127-fold is still finite.
constexpr float kScaleMax = 0x1.020406p+121f;

using Draws = std::array<std::uint32_t, kInt8Block>;

std::size_t blocks_of(std::size_t count) {
  return (count + kInt8Block - 1) / kInt8Block;
}

// Zero for NaN and the infinities, so that they do not spoil their block's scale.
inline float finite_or_zero(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x7f800000u) == 0x7f800000u ? 0.0f : value;
}

// The smallest scale of which no value is more than 127: peak / 127 rounded up, which matters among
// denormals, where rounding down would cut the peak off.
float scale_of(std::span<const float> block) {
  float peak = 0;
  for (const float value : block) peak = std::max(peak, std::fabs(finite_or_zero(value)));
  float scale = peak / kLevels;
  if (static_cast<double>(scale) * kLevels < peak)
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return std::min(scale, kScaleMax);
}

// floor(value / scale + u) with u uniform in [0, 1), in fixed point with 24 bits after the point:
// 127 and u together just fit 32 bits.
inline std::int8_t round_at_random(float value, float scale, std::uint32_t draw) {
  constexpr float kOne = 1 << 24;
  const float levels = std::clamp(finite_or_zero(value) / scale, -kLevels, kLevels);
  const auto fixed = static_cast<std::int32_t>(levels * kOne);
  const std::int32_t whole = (fixed + static_cast<std::int32_t>(draw >> 8)) >> 24;
  const bool finite = finite_or_zero(value) == value;
  return static_cast<std::int8_t>(finite ? whole : kNotFinite);
}

void encode_block(std::span<const float> block, float scale, const Draws& draws, std::byte* out) {
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
  Random random = rounding.fork("int8");
  Draws draws{};
  for (std::size_t b = 0; b < blocks_of(values.size()); ++b) {
    const std::size_t at = b * kInt8Block;
    const auto block = values.subspan(at, std::min(kInt8Block, values.size() - at));
    const float scale = scale_of(block);
    std::memcpy(scales + b * sizeof scale, &scale, sizeof scale);
    for (std::uint32_t& draw : draws) draw = random.bits();
    encode_block(block, scale, draws, wholes + at);
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
