// The processes that carry out one simulation together. Each of them goes through the same instants
// with the same clock, network and faults; the nodes, which cost most of the time and memory, are
// dealt out among them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tessera {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual std::uint32_t count() const = 0;
  virtual std::uint32_t mine() const = 0;  // Below count(); 0 writes what is written.

  // Both are called by all ranks, in the same order.
  virtual std::vector<Bytes> gather(ByteSpan told) = 0;  // What each told, by rank.
  // What each has for us, by rank, when `told` is what we have for each.
  virtual std::vector<Bytes> exchange(std::vector<Bytes> told) = 0;
};

}  // namespace tessera
