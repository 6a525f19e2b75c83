#include "codec/raw32.h"

#include <fmt/format.h>

#include <cstring>

namespace tessera {

std::size_t raw32_size(const IndexSet& set) {
  return set.indices.size_bytes();
}

std::size_t raw32_bound(std::uint32_t count, std::uint32_t) {
  return std::size_t{count} * sizeof(std::uint32_t);
}

std::uint64_t raw32_indices_max(std::size_t bytes) {
  return bytes / sizeof(std::uint32_t);
}

void encode_raw32(const IndexSet& set, Bytes& out) {
  ByteWriter(out).put_bytes(bytes_of(set.indices));
}

Result<void> decode_raw32(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices) {
  if (payload.size() < indices.size_bytes())
    return Error{"truncated", fmt::format("{} indices need {} bytes and {} are there",
                                          indices.size(), indices.size_bytes(), payload.size())};
  if (payload.size() > indices.size_bytes())
    return Error{"trailing", fmt::format("{} bytes follow the last index",
                                         payload.size() - indices.size_bytes())};
  if (indices.empty()) return {};
  std::memcpy(indices.data(), payload.data(), payload.size());
  if (!is_valid({indices, dimension}))
    return Error{"indices", fmt::format("they do not increase, or reach {}", dimension)};
  return {};
}

}  // namespace tessera
