// Exponential graphs (Ying et al., "Exponential graph is provably efficient for decentralized deep
// training", 2021): node i tells those 1, 2, 4, ... further on, counted in a circle; all at once,
// or one of them in a round (or a few, each averaged after the one before). Weights are alike, the
// node's own among them. With one at a time and n a power of two, ceil(log2 n) rounds give
// everybody the exact mean.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "topology/topology_kinds.h"

namespace tessera {
namespace {

std::uint32_t steps_for(std::uint32_t nodes) {
  return nodes < 2 ? 0 : static_cast<std::uint32_t>(std::bit_width(nodes - 1));
}

// Several rounds of one peer as one: what a node would have after them, of whom it is a mean.
WeightedGraph steps_at_once(std::uint32_t nodes, std::uint32_t first, std::uint32_t count) {
  std::map<std::uint64_t, double> shares = {{0, 1.0}};  // By how far back the sender lies.
  for (std::uint32_t step = first; step < first + count; ++step) {
    const std::uint64_t hop = std::uint64_t{1} << (step % steps_for(nodes));
    for (const auto& [back, share] : std::exchange(shares, {})) {
      shares[back] += share / 2;
      shares[(back + hop) % nodes] += share / 2;
    }
  }
  shares.erase(0);
  std::vector<Arc> arcs;
  for (NodeId node = 0; node < nodes; ++node)
    for (const auto& [back, share] : shares)
      arcs.push_back({node, static_cast<NodeId>((node + back) % nodes), share});
  return WeightedGraph(nodes, std::move(arcs));
}

// The arcs to the nodes 2^first to 2^(last - 1) further on.
WeightedGraph graph_of(std::uint32_t nodes, std::uint32_t first, std::uint32_t last) {
  std::vector<Arc> arcs;
  for (NodeId node = 0; node < nodes; ++node)
    for (std::uint32_t step = first; step < last; ++step) {
      const auto to = static_cast<NodeId>((node + (std::uint64_t{1} << step)) % nodes);
      arcs.push_back({node, to, 1.0 / (last - first + 1)});
    }
  return WeightedGraph(nodes, std::move(arcs));
}

}  // namespace

Scheme make_exponential(Options& options, std::uint32_t nodes) {
  options.done();
  const std::uint32_t steps = steps_for(nodes);
  require_few_edges(options, static_cast<double>(nodes) * steps);
  return Cycle{.step = [=](std::uint32_t) { return graph_of(nodes, 0, steps); }};
}

Scheme make_one_peer_exponential(Options& options, std::uint32_t nodes) {
  const auto at_once = static_cast<std::uint32_t>(options.integer("at_once", 1, between(1, 16)));
  options.done();
  const std::uint32_t steps = steps_for(nodes);
  if (steps == 0) return Cycle{.step = [=](std::uint32_t) { return graph_of(nodes, 0, 0); }};
  require_few_edges(options, static_cast<double>(nodes) * std::min(nodes, 1u << at_once));
  return Cycle{.length = steps / std::gcd(steps, at_once), .step = [=](std::uint32_t step) {
                 return steps_at_once(nodes, step * at_once, at_once);
               }};
}

}  // namespace tessera
