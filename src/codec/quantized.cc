#include "codec/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/number_coder.h"
#include "codec/splitmix.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr unsigned kScaleShift = 20;  // The bits of a scale that do not travel.

float scale_of(std::uint32_t upper) {
  return std::bit_cast<float>(upper << kScaleShift);
}

// The largest scale of which `levels` are finite.
std::uint32_t upper_max(int levels) {
  const float largest = std::numeric_limits<float>::max() / static_cast<float>(levels);
  return std::bit_cast<std::uint32_t>(largest) >> kScaleShift;
}

// The upper bits of the smallest scale there is of which no finite value is more than `levels`.
std::uint32_t upper_of(std::span<const float> block, int levels) {
  float peak = 0;
  for (const float value : block)
    if (std::isfinite(value)) peak = std::max(peak, std::fabs(value));
  std::uint32_t upper =
      std::bit_cast<std::uint32_t>(peak / static_cast<float>(levels)) >> kScaleShift;
  if (double{scale_of(upper)} * levels < peak) ++upper;
  return std::min(upper, upper_max(levels));
}

// floor(value / scale + u), u in 24 bits; levels + 1 for what is not finite.
std::int64_t rounded(float value, float scale, int levels, std::uint64_t u) {
  if (!std::isfinite(value)) return levels + 1;
  if (scale == 0) return 0;
  const double within = std::floor(double{value} / scale + static_cast<double>(u) * 0x1p-24);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(within), -levels, levels);
}

Result<float> read_scale(RangeDecoder& coder, SignedCoder& scales, int levels,
                         std::int64_t& upper) {
  upper += scales(coder);
  if (coder.past_end()) return Error{"truncated", "the code ends before the last scale"};
  if (upper < 0 || upper > upper_max(levels)) return Error{"values", "a scale that cannot be"};
  return scale_of(static_cast<std::uint32_t>(upper));
}

Result<void> read_block(RangeDecoder& coder, SignedCoder& numbers, int levels,
                        std::span<float> block) {
  for (float& value : block) {
    const std::int64_t number = numbers(coder);
    if (coder.past_end()) return Error{"truncated", "the code ends before the last value"};
    if (number < -levels || number > levels + 1)
      return Error{"values", fmt::format("a value of {} among {} levels", number, levels)};
    value = number > levels ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(number);
  }
  return {};
}

}  // namespace

std::size_t quantized_bound(std::size_t count) {
  const double blocks = static_cast<double>(count) / kQuantizedBlock + 2;
  const double numbers = static_cast<double>(count) * (NumberCoder::bits_max(8) + 1);
  return static_cast<std::size_t>((numbers + blocks * (NumberCoder::bits_max(32) + 1)) / 8) + 5;
}

std::uint64_t quantized_values_max(std::size_t bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 8 / BitChance::kBitsMin);
}

void encode_quantized(std::span<const float> values, int levels, const Random& rounding,
                      Bytes& out) {
  if (values.empty()) return;
  const std::uint64_t seed = rounding.fork("quantized").bits64();
  RangeEncoder coder(out);
  SignedCoder scales, numbers;
  std::int64_t before = 0;
  for (std::size_t at = 0; at < values.size(); at += kQuantizedBlock) {
    const auto block = values.subspan(at, std::min(kQuantizedBlock, values.size() - at));
    const std::uint32_t upper = upper_of(block, levels);
    scales(coder, upper - before);
    before = upper;
    for (std::size_t i = 0; i < block.size(); ++i)
      numbers(coder, rounded(block[i], scale_of(upper), levels, splitmix64(seed, at + i) >> 40));
  }
  scales(coder, static_cast<std::int64_t>(values.size() & 0xffffff));
  coder.finish();
}

Result<void> decode_quantized(ByteSpan payload, int levels, std::span<float> values) {
  if (values.empty()) return expect_bytes(payload, 0);
  RangeDecoder coder(payload);
  SignedCoder scales, numbers;
  std::int64_t upper = 0;
  for (std::size_t at = 0; at < values.size(); at += kQuantizedBlock) {
    const auto block = values.subspan(at, std::min(kQuantizedBlock, values.size() - at));
    const Result<float> scale = read_scale(coder, scales, levels, upper);
    if (!scale) return scale.error();
    if (auto read = read_block(coder, numbers, levels, block); !read) return read;
    for (float& value : block) value *= *scale;
  }
  // The count told once more, so that one value more or fewer is not taken for an honest message.
  if (scales(coder) != static_cast<std::int64_t>(values.size() & 0xffffff))
    return Error{coder.past_end() ? "truncated" : "values", "the number of values is another"};
  return coder.finish();
}

}  // namespace tessera
