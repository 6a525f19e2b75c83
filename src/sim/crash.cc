// Nodes that crash and come back: from their last snapshot, or knowing nothing.
#include "base/check.h"
#include "sim/simulation.h"

namespace tessera {

void Simulation::schedule_crash(NodeId node) {
  const Life& life = lives_[node];
  const auto crash_at = faults_.crash_after(node, life.number, now_);
  if (!crash_at) return;
  queue_.push(*crash_at, {node, life.number, Crashed{}});
  if (faults_.options().remembers)
    queue_.push(now_ + faults_.options().snapshot_every, {node, life.number, Snapshot{}});
}

void Simulation::take_snapshot(NodeId node) {
  Life& life = lives_[node];
  life.snapshot.clear();
  save_fields(*nodes_[node], life.snapshot);
  queue_.push(now_ + faults_.options().snapshot_every, {node, life.number, Snapshot{}});
}

// What it had not sent is gone, and so is the training under way. Its events die with its life.
void Simulation::crash(NodeId node) {
  if (nodes_[node]->finished()) return;
  Life& life = lives_[node];
  life.up = false;
  const Duration down = faults_.down_time(node, life.number);
  ++life.number;
  trainings_[node].reset();
  withdraw_all(node);
  queue_.push(now_ + down, {node, life.number, Started{}});
}

// Each ended a life.
std::uint64_t Simulation::crashes() const {
  std::uint64_t count = 0;
  for (const Life& life : lives_) count += life.number;
  return count;
}

void Simulation::come_back(NodeId node) {
  Life& life = lives_[node];
  life.up = true;
  nodes_[node] = make_node_(node);
  if (!life.snapshot.empty()) {
    ByteReader in(life.snapshot);
    const Result<void> loaded = load_fields(*nodes_[node], in);
    CHECK(loaded.ok());
  }
  schedule_crash(node);
}

}  // namespace tessera
