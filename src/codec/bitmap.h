// One bit per coordinate: coordinate i is bit i % 8, lowest first, of byte i / 8. Costs the same
// whatever is sent, so it wins when more than about a third is.
#pragma once

#include "codec/index_codec.h"

namespace tessera {

std::size_t bitmap_size(const IndexSet& set);
std::size_t bitmap_bound(std::uint32_t count, std::uint32_t dimension);
std::uint64_t bitmap_indices_max(std::size_t bytes);
void encode_bitmap(const IndexSet& set, Bytes& out);
Result<void> decode_bitmap(ByteSpan payload, std::uint32_t dimension,
                           std::span<std::uint32_t> indices);

}  // namespace tessera
