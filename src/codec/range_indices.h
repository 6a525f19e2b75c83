// Indices as gaps in an adaptive range code (number_coder.h): a tenth fewer bits than gamma on
// JWINS's masks of a tenth (docs/algorithms.md), and the entropy of random places on random ones.
// Chances that also depend on the last gaps, on their running mean or on the next coarser band of a
// wavelet were tried: they learn more slowly and gain nothing.
//
// Payload: the range code of the gaps, the first counted from -1, and of a last one
// to the dimension, which shows that count and dimension are the sender's. No index: no bytes.
#pragma once

#include "codec/index_codec.h"

namespace tessera {

std::size_t range_size(const IndexSet& set);
std::size_t range_bound(std::uint32_t count, std::uint32_t dimension);
std::uint64_t range_indices_max(std::size_t bytes);
void encode_range(const IndexSet& set, Bytes& out);
Result<void> decode_range(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices);

}  // namespace tessera
