// Elias gamma code of the gaps between indices, the code JWINS uses (Elias, "Universal codeword
// sets and representations of the integers", 1975). A gap g >= 1 costs 2 floor(log2 g) + 1 bits:
// floor(log2 g) zeros, then g in binary. It has no parameter, so it follows the local density, and
// real messages cluster: there it stays within 5 to 7% of the entropy of the gaps.
//
// Payload: the first index as four little-endian bytes, then the codes, most significant bit first,
// zeros up to the next whole byte. No index: no bytes.
#pragma once

#include "codec/index_codec.h"

namespace tessera {

std::size_t gamma_size(const IndexSet& set);
std::size_t gamma_bound(std::uint32_t count, std::uint32_t dimension);
std::uint64_t gamma_indices_max(std::size_t bytes);
void encode_gamma(const IndexSet& set, Bytes& out);
Result<void> decode_gamma(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices);

// Bit by bit, as the definition reads. The references the fast versions are held equal to.
namespace plain {
void encode_gamma(const IndexSet& set, Bytes& out);
Result<void> decode_gamma(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices);
}  // namespace plain

}  // namespace tessera
