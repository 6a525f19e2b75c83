// Who is hostile, and who of a node's neighbours is honest. Where nodes have no fixed neighbours
// everyone is everyone's.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "topology/graph.h"

namespace tessera {

class Neighbours {
 public:
  Neighbours(std::vector<bool> hostile, std::shared_ptr<const Graph> graph)
      : hostile_(std::move(hostile)), graph_(std::move(graph)) {}

  bool is_hostile(NodeId node) const { return hostile_[node]; }
  // Ascending, without the node itself; all other honest nodes where it has no honest neighbour.
  std::vector<NodeId> honest(NodeId node) const;
  std::vector<NodeId> hostile(NodeId node) const;
  // The weight the averaging of synchronous rounds gives one neighbour's model in the other's.
  double weight(NodeId a, NodeId b) const;

 private:
  std::vector<NodeId> of(NodeId node, bool hostile) const;

  std::vector<bool> hostile_;           // By node.
  std::shared_ptr<const Graph> graph_;  // Null: everyone is everyone's neighbour.
};

}  // namespace tessera
