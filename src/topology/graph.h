// Who talks to whom, once: an undirected graph of nodes 0 ... n-1. It is a value that does not
// change after it is made, so any number of threads may read one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace tessera {

struct Edge {
  NodeId a = 0;
  NodeId b = 0;
  bool operator==(const Edge&) const = default;
};

class Graph {
 public:
  // An edge may be named in either direction and more than once. Ends are below `nodes` and differ.
  Graph(std::uint32_t nodes, std::span<const Edge> edges);

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
  std::size_t edge_count() const { return peers_.size() / 2; }
  // Ascending, without the node itself.
  std::span<const NodeId> peers(NodeId node) const {
    return std::span(peers_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }
  std::uint32_t degree(NodeId node) const { return static_cast<std::uint32_t>(peers(node).size()); }
  bool has_edge(NodeId a, NodeId b) const;
  std::vector<Edge> edges() const;  // Each once, a < b, ascending.

  bool operator==(const Graph&) const = default;

 private:
  std::vector<std::size_t>
      begins_;  // Where each node's peers begin in peers_; one more at the end.
  std::vector<NodeId> peers_;
};

bool is_connected(const Graph& graph);

// The nodes of each connected component, ascending; components in the order of their first nodes.
std::vector<std::vector<NodeId>> components(const Graph& graph);

// The two sides of a connected graph whose edges all run between them, as AD-PSGD needs: its first
// side asks and its second answers, so nobody waits for someone who waits. Node 0 is on the first
// side. Nothing where a cycle of odd length makes it impossible.
enum class Side : std::uint8_t { kFirst, kSecond };
std::optional<std::vector<Side>> sides_of(const Graph& graph);

}  // namespace tessera
