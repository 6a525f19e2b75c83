// How the coordinates of a partial share travel. A set of indices is strictly increasing and below
// a dimension both sides know; every codec is a row of one table, and being listed is what earns a
// row its name in `codec=`, its conformance tests and its benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace tessera {

// Strictly increasing indices below `dimension`.
struct IndexSet {
  std::span<const std::uint32_t> indices{};
  std::uint32_t dimension = 0;
};

bool is_valid(const IndexSet& set);

struct IndexCodec {
  std::uint8_t wire_id = 0;  // Never zero, never reused: a message names its codec by it.
  std::string_view name{};
  std::string_view summary{};
  // Exactly what encode() would append.
  std::size_t (*size)(const IndexSet& set) = nullptr;
  // No set of `count` indices below `dimension` takes more bytes than this.
  std::size_t (*bound)(std::uint32_t count, std::uint32_t dimension) = nullptr;
  // No payload of so many bytes holds more indices than this; what a receiver checks a claimed
  // count against before it allocates.
  std::uint64_t (*indices_max)(std::size_t bytes) = nullptr;
  // Appends the payload.
  void (*encode)(const IndexSet& set, Bytes& out) = nullptr;
  // Fills `indices`, whose size is the count the message claims, or refuses the payload:
  //   "truncated"  it ends before the last index;
  //   "trailing"   something follows the last index, be it a padding bit that is not zero;
  //   "indices"    they do not increase, or reach the dimension.
  // What `indices` holds after a refusal is unspecified.
  Result<void> (*decode)(ByteSpan payload, std::uint32_t dimension,
                         std::span<std::uint32_t> indices) = nullptr;
};

std::span<const IndexCodec> index_codecs();
const IndexCodec* find_index_codec(std::uint8_t wire_id);  // nullptr when there is none.

}  // namespace tessera
