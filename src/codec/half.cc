#include "codec/half.h"

#include <bit>
#include <cstring>

#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000u;
constexpr std::uint32_t kInfinity = 0x7f800000u;

// To move a normal number's exponent from the bias of a float (127) to that of a half (15).
constexpr std::uint32_t kRebias = (127u - 15u) << 23;
constexpr std::uint32_t kSmallestNormalHalf = 113u << 23;  // 2^-14.
constexpr std::uint32_t kTooLarge = 0x477ff000u;           // 65,520: halfway past the largest half.

inline std::uint16_t f16_of(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & ~kSignBit;
  // Adding half a unit less one, and one more when the last bit kept is odd, rounds ties to even;
  // a carry out of the mantissa raises the exponent, as it should.
  const std::uint32_t normal = (magnitude - kRebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Floats just above one half are 2^-24 apart, as the denormal halves are: the addition rounds.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      std::bit_cast<std::uint32_t>(0.5f);
  std::uint32_t half = magnitude < kSmallestNormalHalf ? denormal : normal;
  half = magnitude >= kTooLarge ? 0x7c00u : half;
  half = magnitude > kInfinity ? 0x7e00u | (magnitude >> 13 & 0x3ff) : half;
  return static_cast<std::uint16_t>(half | (bits & kSignBit) >> 16);
}

inline std::uint32_t f32_of_f16(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  const std::uint32_t normal = magnitude + kRebias;
  // The same trick backwards: 2^-14 plus the denormal, less 2^-14.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + kSmallestNormalHalf) -
                                   std::bit_cast<float>(kSmallestNormalHalf));
  std::uint32_t bits = magnitude < (1u << 23) ? denormal : normal;
  bits = magnitude >= (31u << 23) ? magnitude | kInfinity : bits;
  return bits | std::uint32_t{half & 0x8000u} << 16;
}

inline std::uint16_t bf16_of(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<std::uint16_t>((bits & ~kSignBit) > kInfinity ? quiet : rounded);
}

inline std::uint32_t f32_of_bf16(std::uint16_t half) {
  return std::uint32_t{half} << 16;
}

// Both loops read and write through memcpy of whole elements: payloads are not aligned.
template <std::uint16_t (*kHalfOf)(std::uint32_t)>
void append_halves(std::span<const float> values, Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + half_bound(values.size()));
  std::byte* const to = out.data() + start;
  const float* const from = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = kHalfOf(std::bit_cast<std::uint32_t>(from[i]));
    std::memcpy(to + 2 * i, &half, sizeof half);
  }
}

template <std::uint32_t (*kFloatOf)(std::uint16_t)>
Result<void> read_halves(ByteSpan payload, std::span<float> values) {
  if (auto whole = expect_bytes(payload, half_bound(values.size())); !whole) return whole;
  const std::byte* const from = payload.data();
  float* const to = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof half);
    to[i] = std::bit_cast<float>(kFloatOf(half));
  }
  return {};
}

}  // namespace

std::uint16_t to_f16(float value) {
  return f16_of(std::bit_cast<std::uint32_t>(value));
}
float from_f16(std::uint16_t half) {
  return std::bit_cast<float>(f32_of_f16(half));
}
std::uint16_t to_bf16(float value) {
  return bf16_of(std::bit_cast<std::uint32_t>(value));
}
float from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(f32_of_bf16(half));
}

std::size_t half_bound(std::size_t count) {
  return count * sizeof(std::uint16_t);
}
std::uint64_t half_values_max(std::size_t bytes) {
  return bytes / sizeof(std::uint16_t);
}

void encode_f16(std::span<const float> values, const Random&, Bytes& out) {
  append_halves<f16_of>(values, out);
}
Result<void> decode_f16(ByteSpan payload, std::span<float> values) {
  return read_halves<f32_of_f16>(payload, values);
}
void encode_bf16(std::span<const float> values, const Random&, Bytes& out) {
  append_halves<bf16_of>(values, out);
}
Result<void> decode_bf16(ByteSpan payload, std::span<float> values) {
  return read_halves<f32_of_bf16>(payload, values);
}

}  // namespace tessera
