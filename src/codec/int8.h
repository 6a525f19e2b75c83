// Values in one byte and a little: blocks of 64 share one scale, a float, and each value is a whole
// number of it, -127 to 127. A value between two whole numbers becomes one or the other at random,
// the nearer one more often, so that the expected result is the value itself and errors cancel over
// rounds and peers instead of adding up.
//
// Payload: one little-endian float scale per 64 values begun, then one signed byte per value.
// -128 stands for what is not finite and decodes as NaN: a diverged model must not look healthy.
// The decoder needs no seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

inline constexpr std::size_t kInt8Block = 64;

std::size_t int8_bound(std::size_t count);
std::uint64_t int8_values_max(std::size_t bytes);
void encode_int8(std::span<const float> values, const Random& rounding, Bytes& out);
Result<void> decode_int8(ByteSpan payload, std::span<float> values);

}  // namespace tessera
