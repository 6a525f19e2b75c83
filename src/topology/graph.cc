#include "topology/graph.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {
namespace {

constexpr std::uint32_t kUnseen = ~0u;

// Steps from `start` to every node it can reach, breadth first. Appends these nodes to `reached` in
// the order met; `steps` keeps what earlier searches left in it.
void search(const Graph& graph, NodeId start, std::vector<std::uint32_t>& steps,
            std::vector<NodeId>& reached) {
  std::size_t next = reached.size();
  reached.push_back(start);
  steps[start] = 0;
  for (; next < reached.size(); ++next) {
    const NodeId node = reached[next];
    for (const NodeId peer : graph.peers(node)) {
      if (steps[peer] != kUnseen) continue;
      steps[peer] = steps[node] + 1;
      reached.push_back(peer);
    }
  }
}

}  // namespace

Graph::Graph(std::uint32_t nodes, std::span<const Edge> edges) : begins_(nodes + std::size_t{1}) {
  for (const Edge& edge : edges) {
    CHECK(edge.a < nodes);
    CHECK(edge.b < nodes);
    CHECK(edge.a != edge.b);
    ++begins_[edge.a + 1];
    ++begins_[edge.b + 1];
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  peers_.resize(begins_.back());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const Edge& edge : edges) {
    peers_[next[edge.a]++] = edge.b;
    peers_[next[edge.b]++] = edge.a;
  }
  // Each list is sorted and moved down over the copies that earlier lists had too many.
  std::size_t kept = 0;
  for (NodeId node = 0; node < nodes; ++node) {
    const auto first = peers_.begin() + static_cast<std::ptrdiff_t>(begins_[node]);
    const auto last = peers_.begin() + static_cast<std::ptrdiff_t>(begins_[node + 1]);
    std::sort(first, last);
    const auto end = std::unique(first, last);
    begins_[node] = kept;
    kept = static_cast<std::size_t>(
        std::move(first, end, peers_.begin() + static_cast<std::ptrdiff_t>(kept)) - peers_.begin());
  }
  begins_[nodes] = kept;
  peers_.resize(kept);
}

bool Graph::has_edge(NodeId a, NodeId b) const {
  const std::span<const NodeId> others = peers(a);
  return std::binary_search(others.begin(), others.end(), b);
}

std::vector<Edge> Graph::edges() const {
  std::vector<Edge> list;
  list.reserve(edge_count());
  for (NodeId a = 0; a < nodes(); ++a)
    for (const NodeId b : peers(a))
      if (a < b) list.push_back({a, b});
  return list;
}

bool is_connected(const Graph& graph) {
  if (graph.nodes() == 0) return true;
  std::vector<std::uint32_t> steps(graph.nodes(), kUnseen);
  std::vector<NodeId> reached;
  reached.reserve(graph.nodes());
  search(graph, 0, steps, reached);
  return reached.size() == graph.nodes();
}

std::vector<std::vector<NodeId>> components(const Graph& graph) {
  std::vector<std::uint32_t> steps(graph.nodes(), kUnseen);
  std::vector<std::vector<NodeId>> found;
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    if (steps[node] != kUnseen) continue;
    search(graph, node, steps, found.emplace_back());
    std::sort(found.back().begin(), found.back().end());
  }
  return found;
}

std::optional<std::vector<Side>> sides_of(const Graph& graph) {
  if (graph.nodes() == 0) return std::vector<Side>{};
  std::vector<std::uint32_t> steps(graph.nodes(), kUnseen);
  std::vector<NodeId> reached;
  search(graph, 0, steps, reached);
  CHECK(reached.size() == graph.nodes());
  std::vector<Side> sides;
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    sides.push_back(steps[node] % 2 == 0 ? Side::kFirst : Side::kSecond);
    for (const NodeId peer : graph.peers(node))
      if (steps[peer] % 2 == steps[node] % 2) return std::nullopt;
  }
  return sides;
}

}  // namespace tessera
