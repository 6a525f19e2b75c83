#include "topology/shapes.h"

#include <numeric>
#include <vector>

#include "base/check.h"

namespace tessera {

Graph line_graph(std::uint32_t nodes) {
  std::vector<Edge> edges;
  for (NodeId node = 1; node < nodes; ++node) edges.push_back({node - 1, node});
  return Graph(nodes, edges);
}

Graph ring_graph(std::uint32_t nodes) {
  std::vector<NodeId> order(nodes);
  std::iota(order.begin(), order.end(), NodeId{0});
  return ring_through(order);
}

Graph star_graph(std::uint32_t nodes) {
  std::vector<Edge> edges;
  for (NodeId node = 1; node < nodes; ++node) edges.push_back({0, node});
  return Graph(nodes, edges);
}

Graph full_graph(std::uint32_t nodes) {
  std::vector<Edge> edges;
  edges.reserve(std::size_t{nodes} * (nodes - std::size_t{nodes > 0}) / 2);
  for (NodeId a = 0; a < nodes; ++a)
    for (NodeId b = a + 1; b < nodes; ++b) edges.push_back({a, b});
  return Graph(nodes, edges);
}

Graph ring_through(std::span<const NodeId> order) {
  std::vector<Edge> edges;
  for (std::size_t i = 1; i < order.size(); ++i) edges.push_back({order[i - 1], order[i]});
  // Two nodes are joined once already, and one has nobody.
  if (order.size() > 2) edges.push_back({order.back(), order.front()});
  return Graph(static_cast<std::uint32_t>(order.size()), edges);
}

Graph with_places(const Graph& graph, std::span<const NodeId> places) {
  CHECK(places.size() == graph.nodes());
  std::vector<NodeId> node_at(places.size());
  for (NodeId node = 0; node < graph.nodes(); ++node) node_at[places[node]] = node;
  std::vector<Edge> edges = graph.edges();
  for (Edge& edge : edges) edge = {node_at[edge.a], node_at[edge.b]};
  return Graph(graph.nodes(), edges);
}

}  // namespace tessera
