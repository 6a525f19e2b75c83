// Values in 2 to 8 bits and fewer: like int8, blocks of 64 share a scale and each value is a whole
// number of it, rounded at random without bias; but the whole numbers, -L to L with
// L = 2^(bits - 1) - 1, and the scales travel in a range code, which makes use of how rare the
// large ones are. A scale is the block's largest magnitude / L, rounded up to a float of three bits
// behind the point.
//
// Payload: one range code (number_coder.h). For each block the upper 12 bits of its scale, less
// those of the scale before, then its whole numbers; L + 1 stands for what is not finite and
// decodes as NaN. No value: no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

inline constexpr std::size_t kQuantizedBlock = 64;

constexpr int quantized_levels(unsigned bits) {
  return (1 << (bits - 1)) - 1;
}

std::size_t quantized_bound(std::size_t count);
std::uint64_t quantized_values_max(std::size_t bytes);
void encode_quantized(std::span<const float> values, int levels, const Random& rounding,
                      Bytes& out);
Result<void> decode_quantized(ByteSpan payload, int levels, std::span<float> values);

}  // namespace tessera
