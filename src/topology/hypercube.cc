// Hypercubes: peers' numbers differ in one binary digit. Where n is no power of two, the corners
// with numbers from n on are missing, and the rest holds together. One peer at a time, digit after
// digit, makes an exact mean, which needs all corners.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "topology/topology_kinds.h"

namespace tessera {
namespace {

Graph all_digits(std::uint32_t nodes) {
  std::vector<Edge> edges;
  for (NodeId node = 0; node < nodes; ++node)
    for (std::uint32_t bit = 1; bit <= node; bit *= 2)
      if ((node & bit) != 0) edges.push_back({node - bit, node});
  return Graph(nodes, edges);
}

WeightedGraph one_digit(std::uint32_t nodes, std::uint32_t step) {
  std::vector<WeightedEdge> edges;
  const std::uint32_t bit = 1u << step;
  for (NodeId node = 0; node < nodes; ++node)
    if ((node & bit) != 0) edges.push_back({node - bit, node, 0.5});
  return both_ways(nodes, edges);
}

}  // namespace

Scheme make_hypercube(Options& options, std::uint32_t nodes) {
  constexpr std::array<std::string_view, 2> kPeers = {"all", "one"};
  const bool one = options.choice("peers", kPeers, "all") == "one";
  options.done();
  if (!one) return [nodes](const Random&) { return all_digits(nodes); };
  if (!std::has_single_bit(nodes))
    options.refuse("peers", fmt::format("one at a time needs 2, 4, 8, ... nodes, and nodes is {}; "
                                        "topology=base is exact for any number",
                                        nodes));
  const auto digits = static_cast<std::uint32_t>(std::bit_width(nodes)) - 1;
  return Cycle{.length = std::max(digits, 1u),
               .step = [nodes](std::uint32_t step) { return one_digit(nodes, step); }};
}

}  // namespace tessera
