// Who tells whom in a round, and what weight the one who hears gives it: for graphs that go one
// way, or whose weights are not those of Metropolis and Hastings (mixing.h). Everybody can work out
// every weight, so nobody has to be believed about its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "topology/graph.h"

namespace tessera {

struct Arc {
  NodeId from = 0, to = 0;
  double weight = 0;  // In the mean that `to` takes. Those of all it hears sum to less than one.
  bool operator==(const Arc&) const = default;
};

class WeightedGraph {
 public:
  // Ends are below `nodes` and differ; no arc comes twice.
  WeightedGraph(std::uint32_t nodes, std::vector<Arc> arcs);

  std::uint32_t nodes() const { return graph_.nodes(); }
  // What a node hears, by sender ascending.
  std::span<const Arc> into(NodeId node) const {
    return std::span(arcs_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }
  std::vector<NodeId> sources(NodeId node) const;  // Ascending.
  std::vector<NodeId> targets(NodeId node) const;  // Ascending.
  double weight(NodeId from, NodeId to) const;     // 0 where `from` does not tell `to`.
  const Graph& graph() const { return graph_; }    // Who meets, whichever way.

 private:
  std::vector<Arc> arcs_;  // By receiver, then by sender.
  std::vector<std::size_t> begins_;
  Graph graph_;
};

// The arcs of edges that go both ways with one weight.
struct WeightedEdge {
  NodeId a = 0, b = 0;
  double weight = 0;
};
WeightedGraph both_ways(std::uint32_t nodes, std::span<const WeightedEdge> edges);

}  // namespace tessera
