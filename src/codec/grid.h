// Values that are whole multiples of one power of two, as a sharing that quantizes makes them: the
// multiples in a range code, and the power once. Lossless: other values travel as they are, at the
// cost of a byte.
//
// Payload: a byte, 0 and the values as four bytes each; or 1, the power's exponent as two bytes
// (signed) and the range code of the multiples (number_coder.h). No value: no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

std::size_t grid_bound(std::size_t count);
std::uint64_t grid_values_max(std::size_t bytes);
void encode_grid(std::span<const float> values, const Random&, Bytes& out);
Result<void> decode_grid(ByteSpan payload, std::span<float> values);

}  // namespace tessera
