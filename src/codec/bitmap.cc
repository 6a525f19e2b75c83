#include "codec/bitmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tessera {
namespace {

std::size_t bytes_for(std::uint32_t dimension) {
  return (std::size_t{dimension} + 7) / 8;
}

// Eight bytes from `at` on, with zeros for those past the end.
std::uint64_t word_at(ByteSpan payload, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, payload.data() + at, std::min(sizeof word, payload.size() - at));
  return word;
}

std::uint64_t count_ones(ByteSpan payload) {
  std::uint64_t ones = 0;
  for (std::size_t at = 0; at < payload.size(); at += 8)
    ones += static_cast<std::uint64_t>(std::popcount(word_at(payload, at)));
  return ones;
}

}  // namespace

std::size_t bitmap_size(const IndexSet& set) {
  return bytes_for(set.dimension);
}

std::size_t bitmap_bound(std::uint32_t, std::uint32_t dimension) {
  return bytes_for(dimension);
}

std::uint64_t bitmap_indices_max(std::size_t bytes) {
  return std::uint64_t{bytes} * 8;
}

void encode_bitmap(const IndexSet& set, Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + bytes_for(set.dimension));
  std::byte* bits = out.data() + start;
  for (const std::uint32_t i : set.indices) bits[i / 8] |= std::byte{1} << (i % 8);
}

Result<void> decode_bitmap(ByteSpan payload, std::uint32_t dimension,
                           std::span<std::uint32_t> indices) {
  const std::size_t expected = bytes_for(dimension);
  if (payload.size() != expected)
    return Error{payload.size() < expected ? "truncated" : "trailing",
                 fmt::format("a bitmap of {} coordinates has {} bytes, not {}", dimension, expected,
                             payload.size())};
  // Counted first, so that the loop below writes exactly indices.size() entries.
  const std::uint64_t ones = count_ones(payload);
  if (ones != indices.size())
    return Error{"indices", fmt::format("{} bits are set where {} indices were announced", ones,
                                        indices.size())};
  if (dimension % 8 != 0 && std::to_integer<unsigned>(payload.back()) >> (dimension % 8) != 0)
    return Error{"trailing", "a bit past the last coordinate is set"};
  std::uint32_t* next = indices.data();
  for (std::size_t at = 0; at < payload.size(); at += 8)
    for (std::uint64_t word = word_at(payload, at); word != 0; word &= word - 1)
      *next++ = static_cast<std::uint32_t>(at * 8) + static_cast<unsigned>(std::countr_zero(word));
  return {};
}

}  // namespace tessera
