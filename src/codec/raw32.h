// Indices as they are, four little-endian bytes each.
#pragma once

#include "codec/index_codec.h"

namespace tessera {

std::size_t raw32_size(const IndexSet& set);
std::size_t raw32_bound(std::uint32_t count, std::uint32_t dimension);
std::uint64_t raw32_indices_max(std::size_t bytes);
void encode_raw32(const IndexSet& set, Bytes& out);
Result<void> decode_raw32(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices);

}  // namespace tessera
