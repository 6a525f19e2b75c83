#include "sim/lives.h"

namespace tessera {

std::uint64_t Lives::crashes() const {
  std::uint64_t count = 0;
  for (const Life& life : lives_) count += life.number;
  return count;
}

Lives::Plan Lives::begin(NodeId node, Instant now) {
  Life& life = lives_[node];
  life.up = true;
  Plan plan{.crash_at = faults_.crash_after(node, life.number, now)};
  if (plan.crash_at && faults_.options().remembers)
    plan.snapshot_at = later(now, faults_.options().snapshot_every);
  return plan;
}

Instant Lives::end(NodeId node, Instant now) {
  Life& life = lives_[node];
  life.up = false;
  return later(now, faults_.down_time(node, life.number++));
}

Instant Lives::keep_snapshot(NodeId node, Bytes state, Instant now) {
  lives_[node].snapshot = std::move(state);
  return later(now, faults_.options().snapshot_every);
}

void Lives::fields(Archive& archive) {
  for (NodeId id = 0; id < lives_.size(); ++id) {
    archive(lives_[id].number, lives_[id].up);
    archive.of_node(id, lives_[id].snapshot);
  }
}

}  // namespace tessera
