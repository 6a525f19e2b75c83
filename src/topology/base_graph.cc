#include "topology/base_graph.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "topology/topology_kinds.h"

namespace tessera {
namespace {

// The sides of (1), none above `side_max`, as few as dividing by the largest first gives; empty for
// one node. Their product falls short of n where n has a larger prime factor.
std::vector<std::uint32_t> sides_of_grid(std::uint32_t n, std::uint32_t side_max) {
  std::vector<std::uint32_t> sides;
  for (std::uint32_t side = side_max; side >= 2; --side)
    for (; n % side == 0; n /= side) sides.push_back(side);
  return sides;
}

std::uint32_t product(const std::vector<std::uint32_t>& sides) {
  std::uint32_t all = 1;
  for (const std::uint32_t side : sides) all *= side;
  return all;
}

BaseRounds grid_rounds(std::uint32_t n, std::uint32_t side_max) {
  BaseRounds rounds;
  std::uint32_t stride = 1;
  for (const std::uint32_t side : sides_of_grid(n, side_max)) {
    std::vector<WeightedEdge>& edges = rounds.emplace_back();
    for (NodeId node = 0; node < n; ++node)
      for (std::uint32_t ahead = 1; ahead + node / stride % side < side; ++ahead)
        edges.push_back({node, node + ahead * stride, 1.0 / side});
    stride *= side;
  }
  CHECK(stride == n);
  return rounds;
}

// Where the nodes of a part stand among all: the i-th at first + i * stride.
struct Places {
  NodeId first = 0;
  std::uint32_t stride = 1;
};

// Adds a part's rounds to those of all, the first at round `begin`.
void add(BaseRounds& all, const BaseRounds& part, std::size_t begin, Places places) {
  if (all.size() < begin + part.size()) all.resize(begin + part.size());
  for (std::size_t r = 0; r < part.size(); ++r)
    for (const WeightedEdge& edge : part[r])
      all[begin + r].push_back({places.first + edge.a * places.stride,
                                places.first + edge.b * places.stride, edge.weight});
}

// One of (2): `parts` times `size` nodes, from `first` on.
struct Set {
  NodeId first = 0;
  std::uint32_t parts = 0, size = 0;
  NodeId end() const { return first + parts * size; }
};

std::vector<Set> sets_of(std::uint32_t n, std::uint32_t base) {
  std::uint32_t power = 1;
  while (power <= n / base) power *= base;
  std::vector<Set> sets;
  for (NodeId first = 0; first < n; power /= base)
    if (const std::uint32_t parts = (n - first) / power; parts > 0) {
      sets.push_back({first, parts, power});
      first = sets.back().end();
    }
  return sets;
}

// The round in which a set meets all smaller ones.
std::vector<WeightedEdge> meeting(const Set& set, std::uint32_t n) {
  const double weight = static_cast<double>(set.size) / (n - set.first);
  std::vector<WeightedEdge> edges;
  for (NodeId node = set.end(); node < n; ++node)
    for (std::uint32_t part = 0; part < set.parts; ++part)
      edges.push_back({set.first + part * set.size + (node - set.end()), node, weight});
  return edges;
}

BaseRounds simple_rounds(std::uint32_t n, std::uint32_t base) {
  if (product(sides_of_grid(n, base)) == n) return grid_rounds(n, base);
  const std::vector<Set> sets = sets_of(n, base);
  BaseRounds all;
  for (const Set& set : sets) add(all, grid_rounds(set.parts * set.size, base), 0, {set.first});
  const std::size_t within = all.size();
  for (std::size_t s = 0; s + 1 < sets.size(); ++s) {
    add(all, {meeting(sets[s], n)}, within + s, {});
    const BaseRounds once_more = grid_rounds(sets[s].size, base);
    for (std::uint32_t part = 0; part < sets[s].parts; ++part)
      add(all, once_more, within + s + 1, {sets[s].first + part * sets[s].size});
  }
  return all;
}

BaseRounds rounds_of(std::uint32_t nodes, std::uint32_t base) {
  BaseRounds simple = simple_rounds(nodes, base);
  const std::uint32_t p = product(sides_of_grid(nodes, base)), q = nodes / p;
  const BaseRounds groups = simple_rounds(q, base), across = grid_rounds(p, base);
  if (simple.size() < groups.size() + across.size()) return simple;
  BaseRounds all;
  for (std::uint32_t group = 0; group < p; ++group) add(all, groups, 0, {group * q});
  for (std::uint32_t place = 0; place < q; ++place) add(all, across, groups.size(), {place, q});
  return all;
}

}  // namespace

BaseRounds base_graph_rounds(std::uint32_t nodes, std::uint32_t peers_max) {
  CHECK(nodes > 0);
  CHECK(peers_max > 0);
  return rounds_of(nodes, std::min(peers_max, nodes) + 1);
}

// A round of its own for every step of the cycle, and one without edges for a single node.
Scheme make_base_graph(Options& options, std::uint32_t nodes) {
  const auto peers = static_cast<std::uint32_t>(options.integer("peers", 1, between(1, 1e9)));
  options.done();
  const double rounds = 2 * std::log(nodes) / std::log1p(std::min(peers, nodes)) + 2;
  require_few_edges(options, 0.5 * nodes * std::min(peers, nodes) * rounds);
  auto all = std::make_shared<const BaseRounds>(base_graph_rounds(nodes, peers));
  if (all->empty()) all = std::make_shared<const BaseRounds>(1);
  return Cycle{.length = static_cast<std::uint32_t>(all->size()),
               .step = [nodes, all](std::uint32_t step) { return both_ways(nodes, (*all)[step]); }};
}

}  // namespace tessera
