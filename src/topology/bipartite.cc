// Random graphs whose edges all run between an even and an odd node. Every even node has exactly
// `degree` peers; so has every odd one when the nodes are even in number, and otherwise, the odd
// side being smaller by one, its nodes have as near to the same number as can be.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "topology/pairing.h"
#include "topology/topology_kinds.h"

namespace tessera {
namespace {

// While drawing, the even nodes come first: place p < left is node 2p, place left + q node 2q + 1.
struct Sides {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  explicit Sides(std::uint32_t nodes) : left(nodes - nodes / 2), right(nodes / 2) {}
  NodeId node_at(NodeId place) const { return place < left ? 2 * place : 2 * (place - left) + 1; }
  Graph graph(std::vector<Edge> edges) const {
    for (Edge& edge : edges) edge = {node_at(edge.a), node_at(edge.b)};
    return Graph(left + right, edges);
  }
};

std::vector<NodeId> shuffled(NodeId begin, NodeId end, Random& random) {
  std::vector<NodeId> places(end - begin);
  std::iota(places.begin(), places.end(), begin);
  random.shuffle(std::span(places));
  return places;
}

// `degree` for the left; the same ends dealt evenly to the right, what is left over to random ones.
std::vector<std::uint32_t> deal_degrees(const Sides& sides, std::uint32_t degree, Random& random) {
  std::vector<std::uint32_t> degrees(sides.left, degree);
  const std::uint64_t ends = std::uint64_t{sides.left} * degree;
  degrees.resize(sides.left + sides.right, static_cast<std::uint32_t>(ends / sides.right));
  const std::vector<NodeId> order = shuffled(sides.left, sides.left + sides.right, random);
  for (std::uint64_t i = 0; i < ends % sides.right; ++i) ++degrees[order[i]];
  return degrees;
}

std::vector<Edge> missing_edges(const Sides& sides, std::span<const Edge> edges) {
  const Graph graph(sides.left + sides.right, edges);
  std::vector<Edge> missing;
  for (NodeId a = 0; a < sides.left; ++a)
    for (NodeId b = sides.left; b < graph.nodes(); ++b)
      if (!graph.has_edge(a, b)) missing.push_back({a, b});
  return missing;
}

std::optional<Graph> attempt_bipartite(const Sides& sides, std::uint32_t degree, Random random) {
  std::vector<std::uint32_t> degrees = deal_degrees(sides, degree, random);
  // As with regular graphs, a dense one is drawn by the edges it lacks.
  const bool dense = degree > sides.right / 2;
  if (dense)
    for (NodeId place = 0; place < degrees.size(); ++place)
      degrees[place] = (place < sides.left ? sides.right : sides.left) - degrees[place];
  const auto edges = draw_pairs_across(degrees, sides.left, random);
  if (!edges) return std::nullopt;
  return sides.graph(dense ? missing_edges(sides, *edges) : *edges);
}

// With two peers each, pairs drawn at random would fall apart nearly always. Instead one path goes
// through all nodes, from side to side. With as many on both sides it closes to a ring; else both
// its ends are even nodes, and each takes another peer of the odd side.
Graph draw_path(const Sides& sides, Random random) {
  const std::vector<NodeId> left = shuffled(0, sides.left, random);
  const std::vector<NodeId> right = shuffled(sides.left, sides.left + sides.right, random);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < right.size(); ++i) {
    edges.push_back({left[i], right[i]});
    if (i + 1 < left.size()) edges.push_back({left[i + 1], right[i]});
  }
  if (left.size() == right.size()) {
    edges.push_back({left.front(), right.back()});
  } else {
    // Not its own neighbour on the path, and not the same node for both ends.
    const std::size_t first = 1 + random.below(right.size() - 1);
    std::size_t second = random.below(right.size() - 1);
    while (second == first) second = random.below(right.size() - 1);
    edges.push_back({left.front(), right[first]});
    edges.push_back({left.back(), right[second]});
  }
  return sides.graph(std::move(edges));
}

}  // namespace

Scheme make_bipartite(Options& options, std::uint32_t nodes) {
  const std::uint32_t degree = read_degree(options, 4);
  options.done();
  const Sides sides(nodes);
  if (degree > sides.right)
    options.refuse("degree", fmt::format("{} peers on the odd side need at least {} nodes, and "
                                         "nodes is {}; use a smaller degree or more nodes",
                                         degree, 2 * std::uint64_t{degree}, nodes));
  if (degree == 1 && nodes > 3)
    options.refuse("degree", fmt::format("1 makes pairs that know nobody else, and nodes is {}; "
                                         "use degree=2 or more",
                                         nodes));
  require_few_edges(options, 1.0 * sides.left * degree);
  if (degree == 2) return [=](const Random& random) { return draw_path(sides, random); };
  return [=](const Random& random) {
    return first_connected(random,
                           [&](Random own) { return attempt_bipartite(sides, degree, own); });
  };
}

}  // namespace tessera
