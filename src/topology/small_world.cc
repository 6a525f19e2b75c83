// Small worlds (Watts and Strogatz, "Collective dynamics of 'small-world' networks", 1998): a ring
// on which every node knows its nearest, and some edges are led to a random node instead.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "topology/topology_kinds.h"

namespace tessera {
namespace {

class SmallWorld {
 public:
  SmallWorld(std::uint32_t nodes, std::uint32_t degree) : nodes_(nodes), peers_(nodes) {
    for (std::uint32_t hop = 1; hop <= degree / 2; ++hop)
      for (NodeId node = 0; node < nodes; ++node) join(node, ahead(node, hop));
  }

  // Once around the ring for every hop, as in the paper; a node that knows everybody keeps its
  // edge.
  void rewire(std::uint32_t degree, double probability, Random& random) {
    for (std::uint32_t hop = 1; hop <= degree / 2; ++hop)
      for (NodeId node = 0; node < nodes_; ++node)
        if (random.uniform() < probability && peers_[node].size() < nodes_ - 1)
          lead_elsewhere(node, ahead(node, hop), random);
  }

  Graph graph() const {
    std::vector<Edge> edges;
    for (NodeId node = 0; node < nodes_; ++node)
      for (const NodeId peer : peers_[node])
        if (node < peer) edges.push_back({node, peer});
    return Graph(nodes_, edges);
  }

 private:
  NodeId ahead(NodeId node, std::uint32_t hop) const {
    return static_cast<NodeId>((std::uint64_t{node} + hop) % nodes_);
  }
  bool knows(NodeId node, NodeId other) const {
    return std::find(peers_[node].begin(), peers_[node].end(), other) != peers_[node].end();
  }
  void join(NodeId a, NodeId b) {
    peers_[a].push_back(b);
    peers_[b].push_back(a);
  }
  void lead_elsewhere(NodeId node, NodeId from, Random& random) {
    auto to = node;
    while (to == node || knows(node, to)) to = static_cast<NodeId>(random.below(nodes_));
    std::erase(peers_[node], from);
    std::erase(peers_[from], node);
    join(node, to);
  }

  std::uint32_t nodes_;
  std::vector<std::vector<NodeId>> peers_;
};

}  // namespace

Scheme make_small_world(Options& options, std::uint32_t nodes) {
  const std::uint32_t degree = read_degree(options, 4);
  const double rewire = options.number("rewire", 0.1, between(0, 1));
  options.done();
  // With one near peer on each side, the ring falls apart as soon as two edges lead elsewhere.
  if (degree < 4 || degree % 2 == 1)
    options.refuse("degree", fmt::format("{} must be even, half of it for each side of the ring, "
                                         "and at least 4; for 2 there is 'ring'",
                                         degree));
  if (degree >= nodes)
    options.refuse("degree", fmt::format("{} near peers need at least {} nodes, and nodes is {}; "
                                         "use a smaller degree, or 'full'",
                                         degree, degree + std::uint64_t{1}, nodes));
  require_few_edges(options, 0.5 * nodes * degree);
  return [=](const Random& random) {
    return first_connected(random, [&](Random own) {
      SmallWorld world(nodes, degree);
      world.rewire(degree, rewire, own);
      return world.graph();
    });
  };
}

}  // namespace tessera
