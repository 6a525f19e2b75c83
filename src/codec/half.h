// Values in two bytes: IEEE binary16 (f16) and the upper half of a float (bf16). Both round to the
// nearest, ties to even; what is too large becomes infinite, and a NaN stays one, quiet, with the
// part of its payload that fits. The loops have no branches, so that the compiler vectorizes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

std::uint16_t to_f16(float value);
float from_f16(std::uint16_t half);
std::uint16_t to_bf16(float value);
float from_bf16(std::uint16_t half);

std::size_t half_bound(std::size_t count);
std::uint64_t half_values_max(std::size_t bytes);
void encode_f16(std::span<const float> values, const Random&, Bytes& out);
Result<void> decode_f16(ByteSpan payload, std::span<float> values);
void encode_bf16(std::span<const float> values, const Random&, Bytes& out);
Result<void> decode_bf16(ByteSpan payload, std::span<float> values);

}  // namespace tessera
