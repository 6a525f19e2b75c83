// Random regular graphs: every node has the same number of peers.
#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "topology/pairing.h"
#include "topology/shapes.h"
#include "topology/topology_kinds.h"

namespace tessera {
namespace {

std::vector<Edge> missing_edges(const Graph& graph) {
  std::vector<Edge> missing;
  for (NodeId a = 0; a < graph.nodes(); ++a)
    for (NodeId b = a + 1; b < graph.nodes(); ++b)
      if (!graph.has_edge(a, b)) missing.push_back({a, b});
  return missing;
}

std::optional<Graph> attempt_regular(std::uint32_t nodes, std::uint32_t degree, Random random) {
  // A graph with more than half of all edges is drawn by the edges it lacks, because hardly any
  // switch would fit into it.
  const bool dense = degree > (nodes - 1) / 2;
  const std::vector<std::uint32_t> degrees(nodes, dense ? nodes - 1 - degree : degree);
  const auto edges = draw_pairs(degrees, random);
  if (!edges) return std::nullopt;
  const Graph graph(nodes, *edges);
  return dense ? Graph(nodes, missing_edges(graph)) : graph;
}

// With two peers each, a connected graph is a ring in some order. Drawn by pairs, a thousand nodes
// would hold together in about one attempt of 17, and more nodes more rarely still.
Graph draw_ring(std::uint32_t nodes, Random random) {
  std::vector<NodeId> order(nodes);
  std::iota(order.begin(), order.end(), NodeId{0});
  random.shuffle(std::span(order));
  return ring_through(order);
}

}  // namespace

Scheme make_regular(Options& options, std::uint32_t nodes) {
  const std::uint32_t degree = read_degree(options, 4);
  options.done();
  if (degree >= nodes)
    options.refuse("degree",
                   fmt::format("{} peers each need at least {} nodes, and nodes is {}; use a "
                               "smaller degree or more nodes",
                               degree, degree + std::uint64_t{1}, nodes));
  if (std::uint64_t{nodes} * degree % 2 == 1)
    options.refuse("degree", fmt::format("{} nodes cannot have {} peers each, as an edge has two "
                                         "ends; make one of the two even",
                                         nodes, degree));
  if (degree == 1 && nodes > 2)
    options.refuse("degree", fmt::format("1 makes pairs that know nobody else, and nodes is {}; "
                                         "use degree=2 or more",
                                         nodes));
  require_few_edges(options, 0.5 * nodes * degree);
  if (degree == 2) return [=](const Random& random) { return draw_ring(nodes, random); };
  return [=](const Random& random) {
    return first_connected(random, [&](Random own) { return attempt_regular(nodes, degree, own); });
  };
}

}  // namespace tessera
