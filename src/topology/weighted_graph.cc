#include "topology/weighted_graph.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

Graph graph_of(std::uint32_t nodes, std::span<const Arc> arcs) {
  std::vector<Edge> edges;
  edges.reserve(arcs.size());
  for (const Arc& arc : arcs) edges.push_back({arc.from, arc.to});
  return Graph(nodes, edges);
}

}  // namespace

WeightedGraph::WeightedGraph(std::uint32_t nodes, std::vector<Arc> arcs)
    : arcs_(std::move(arcs)), begins_(nodes + std::size_t{1}), graph_(graph_of(nodes, arcs_)) {
  const auto place = [](const Arc& arc) { return std::tuple(arc.to, arc.from); };
  std::sort(arcs_.begin(), arcs_.end(),
            [&](const Arc& a, const Arc& b) { return place(a) < place(b); });
  for (std::size_t i = 1; i < arcs_.size(); ++i) CHECK(place(arcs_[i - 1]) != place(arcs_[i]));
  for (const Arc& arc : arcs_) ++begins_[arc.to + 1];
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
}

std::vector<NodeId> WeightedGraph::sources(NodeId node) const {
  std::vector<NodeId> sources;
  for (const Arc& arc : into(node)) sources.push_back(arc.from);
  return sources;
}

std::vector<NodeId> WeightedGraph::targets(NodeId node) const {
  std::vector<NodeId> targets;
  for (const NodeId peer : graph_.peers(node))
    if (weight(node, peer) > 0) targets.push_back(peer);
  return targets;
}

double WeightedGraph::weight(NodeId from, NodeId to) const {
  const std::span<const Arc> heard = into(to);
  const auto found = std::lower_bound(heard.begin(), heard.end(), from,
                                      [](const Arc& arc, NodeId id) { return arc.from < id; });
  return found == heard.end() || found->from != from ? 0 : found->weight;
}

WeightedGraph both_ways(std::uint32_t nodes, std::span<const WeightedEdge> edges) {
  std::vector<Arc> arcs;
  arcs.reserve(2 * edges.size());
  for (const WeightedEdge& edge : edges) {
    arcs.push_back({edge.a, edge.b, edge.weight});
    arcs.push_back({edge.b, edge.a, edge.weight});
  }
  return WeightedGraph(nodes, std::move(arcs));
}

}  // namespace tessera
