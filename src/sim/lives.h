// Which nodes are up. A node that crashes ends a life and begins the next when it comes back; lives
// are numbered, so that what was meant for an earlier one can be told apart and forgotten. When
// lives begin and end is drawn by Faults; what a node had saved of itself is kept here meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "sim/faults.h"

namespace tessera {

class Lives {
 public:
  // `faults` must outlive it.
  Lives(const Faults& faults, std::size_t nodes) : faults_(faults), lives_(nodes) {}

  bool up(NodeId node) const { return lives_[node].up; }
  std::uint32_t number(NodeId node) const { return lives_[node].number; }
  std::uint64_t crashes() const;  // Of all nodes so far: each ended a life.

  // What is to happen in a life that begins now.
  struct Plan {
    std::optional<Instant> crash_at{}, snapshot_at{};
  };
  Plan begin(NodeId node, Instant now);
  Instant end(NodeId node, Instant now);  // It crashes; when it comes back.

  // The node saved itself; when it will again.
  Instant keep_snapshot(NodeId node, Bytes state, Instant now);
  const Bytes& snapshot(NodeId node) const { return lives_[node].snapshot; }

  void fields(Archive& archive);

 private:
  struct Life {
    std::uint32_t number = 0;
    bool up = true;
    Bytes snapshot{};  // Empty: it would come back knowing nothing. Kept by who holds the node.
  };

  const Faults& faults_;
  std::vector<Life> lives_;
};

}  // namespace tessera
