#include "codec/int8.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/int8_blocks.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

std::size_t blocks_of(std::size_t count) {
  return (count + kInt8Block - 1) / kInt8Block;
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
  round_blocks(values, rounding.fork("int8").bits64(), scales, wholes);
}

Result<void> decode_int8(ByteSpan payload, std::span<float> values) {
  if (auto whole = expect_bytes(payload, int8_bound(values.size())); !whole) return whole;
  const std::size_t scale_bytes = blocks_of(values.size()) * sizeof(float);
  ByteReader scales(payload.first(scale_bytes));
  while (scales.left() > 0) {
    const auto scale = scales.get<float>();
    if (!(scale >= 0 && scale <= kInt8ScaleMax) || std::signbit(scale))
      return Error{"values", fmt::format("a scale of {} cannot be", scale)};
  }
  restore_blocks(payload.data(), payload.data() + scale_bytes, values);
  return {};
}

}  // namespace tessera
