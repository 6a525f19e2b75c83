#include "attack/neighbours.h"

#include "topology/mixing.h"

namespace tessera {

std::vector<NodeId> Neighbours::of(NodeId node, bool hostile) const {
  std::vector<NodeId> found;
  for (NodeId other = 0; other < hostile_.size(); ++other)
    if (other != node && hostile_[other] == hostile && (!graph_ || graph_->has_edge(node, other)))
      found.push_back(other);
  return found;
}

std::vector<NodeId> Neighbours::honest(NodeId node) const {
  std::vector<NodeId> found = of(node, false);
  if (!found.empty() || !graph_) return found;
  return Neighbours(hostile_, nullptr).of(node, false);
}

std::vector<NodeId> Neighbours::hostile(NodeId node) const {
  return of(node, true);
}

double Neighbours::weight(NodeId a, NodeId b) const {
  if (!graph_) return 1 / static_cast<double>(hostile_.size());
  return mixing_weight(graph_->degree(a), graph_->degree(b));
}

}  // namespace tessera
