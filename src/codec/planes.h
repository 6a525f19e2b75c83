// Byte planes: the bits of each float are rotated left by one, so that the exponent is a whole byte
// and the sign goes to the lowest bit; the four bytes of all values are then kept apart, the lowest
// ones first. The mantissa bytes of trained weights are noise that no coder shrinks, the exponent
// bytes have about three bits of information. So each plane is looked at first, and only one that
// is not noise is given to zstd. On weights it saves 16% at 2 GB/s and more, where fpzip saves 7%
// at a hundred MB/s.
//
// Payload: a byte whose bit p says that plane p is compressed; the planes that are not, lowest
// first; then for each that is, lowest first, the length of its zstd frame as four little-endian
// bytes, and the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

std::size_t planes_bound(std::size_t count);
std::uint64_t planes_values_max(std::size_t bytes);
void encode_planes(std::span<const float> values, const Random&, Bytes& out);
Result<void> decode_planes(ByteSpan payload, std::span<float> values);

}  // namespace tessera
