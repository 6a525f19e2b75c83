#include "codec/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "codec/number_coder.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr std::uint8_t kAsTheyAre = 0, kMultiples = 1;
constexpr std::size_t kHeadBytes = 1 + sizeof(std::int16_t);
// A float has 24 bits: any multiple up to here of any of these powers is one, exactly.
constexpr std::int64_t kMultipleMax = 1 << 24;
constexpr int kExponentMin = -149, kExponentMax = 103;

// The exponent of the lowest bit that is set; the value is finite and not zero.
int lowest_exponent(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
  const std::uint32_t exponent = bits >> 23, fraction = bits & 0x7fffff;
  const std::uint32_t whole = exponent > 0 ? fraction | 0x800000 : fraction;
  return static_cast<int>(std::max(exponent, 1u)) - 150 + std::countr_zero(whole);
}

// The largest power of which all values are multiples, if none of those is too large.
std::optional<int> common_exponent(std::span<const float> values) {
  int exponent = kExponentMax;
  float peak = 0;
  for (const float value : values) {
    const bool is_minus_zero = value == 0 && std::signbit(value);
    if (!std::isfinite(value) || is_minus_zero) return std::nullopt;
    if (value != 0) exponent = std::min(exponent, lowest_exponent(value));
    peak = std::max(peak, std::fabs(value));
  }
  if (std::ldexp(double{peak}, -exponent) > kMultipleMax) return std::nullopt;
  return exponent;
}

Result<void> decode_multiples(ByteSpan payload, std::span<float> values) {
  ByteReader head(payload.first(std::min(payload.size(), kHeadBytes)));
  head.get<std::uint8_t>();
  const int exponent = head.get<std::int16_t>();
  if (head.ran_short()) return Error{"truncated", "the exponent is not whole"};
  if (exponent < kExponentMin || exponent > kExponentMax)
    return Error{"values", fmt::format("an exponent of {} cannot be", exponent)};
  const float unit = std::ldexp(1.0f, exponent);
  RangeDecoder coder(payload.subspan(kHeadBytes));
  SignedCoder read;
  for (float& value : values) {
    const std::int64_t multiple = read(coder);
    if (coder.past_end()) return Error{"truncated", "the code ends before the last value"};
    if (std::abs(multiple) > kMultipleMax)
      return Error{"values", fmt::format("{} times a power of two is no float", multiple)};
    value = static_cast<float>(multiple) * unit;
  }
  // A count told once more, so that one value more or fewer is not taken for an honest message.
  if (read(coder) != static_cast<std::int64_t>(values.size() % kMultipleMax))
    return Error{coder.past_end() ? "truncated" : "values", "the number of values is another"};
  return coder.finish();
}

}  // namespace

std::size_t grid_bound(std::size_t count) {
  const double code = static_cast<double>(count + 1) * (NumberCoder::bits_max(25) + 1) / 8;
  return kHeadBytes + static_cast<std::size_t>(code) + 5;
}

std::uint64_t grid_values_max(std::size_t bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 8 / BitChance::kBitsMin);
}

void encode_grid(std::span<const float> values, const Random&, Bytes& out) {
  if (values.empty()) return;
  const std::optional<int> exponent = common_exponent(values);
  ByteWriter head(out);
  head.put(exponent ? kMultiples : kAsTheyAre);
  if (!exponent) return head.put_bytes(bytes_of(values));
  head.put(static_cast<std::int16_t>(*exponent));
  RangeEncoder coder(out);
  SignedCoder code;
  const double per_unit = std::ldexp(1.0, -*exponent);
  for (const float value : values) code(coder, static_cast<std::int64_t>(value * per_unit));
  code(coder, static_cast<std::int64_t>(values.size() % kMultipleMax));
  coder.finish();
}

Result<void> decode_grid(ByteSpan payload, std::span<float> values) {
  if (values.empty()) return expect_bytes(payload, 0);
  const auto kind = ByteReader(payload).get<std::uint8_t>();
  if (payload.empty()) return Error{"truncated", "there is no byte"};
  if (kind == kMultiples) return decode_multiples(payload, values);
  if (kind != kAsTheyAre) return Error{"values", fmt::format("there is no grid of kind {}", kind)};
  if (auto whole = expect_bytes(payload, 1 + values.size_bytes()); !whole) return whole;
  std::memcpy(values.data(), payload.data() + 1, values.size_bytes());
  return {};
}

}  // namespace tessera
