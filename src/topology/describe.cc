#include "topology/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "topology/mixing.h"

namespace tessera {

GraphFigures figures_of(const Graph& graph) {
  GraphFigures figures{.nodes = graph.nodes(), .edges = graph.edge_count()};
  figures.degree_min = graph.degree(0);
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    figures.degree_min = std::min(figures.degree_min, graph.degree(node));
    figures.degree_max = std::max(figures.degree_max, graph.degree(node));
  }
  figures.degree_mean = 2.0 * static_cast<double>(figures.edges) / figures.nodes;
  figures.second_eigenvalue = second_eigenvalue(graph);
  return figures;
}

namespace {

// What a cycle leaves of the differences between numbers drawn at random, one for each node.
double left_after_cycle(const Topology& topology) {
  std::vector<double> x(topology.nodes());
  Random random = Random(1).fork("cycle");
  for (double& value : x) value = random.normal();
  const auto spread = [&x] {
    double mean = 0, squares = 0;
    for (const double value : x) mean += value / static_cast<double>(x.size());
    for (const double value : x) squares += (value - mean) * (value - mean);
    return std::sqrt(squares);
  };
  const double before = spread();
  for (Round round = 0; round < topology.cycle_length(); ++round) {
    const auto graph = topology.weighted(round);
    std::vector<double> next = x;
    for (NodeId node = 0; node < topology.nodes(); ++node)
      for (const Arc& arc : graph->into(node)) next[node] += arc.weight * (x[arc.from] - x[node]);
    x = std::move(next);
  }
  return before > 0 ? spread() / before : 0;
}

std::string describe_cycle(const Topology& topology) {
  std::size_t arcs = 0, heard_max = 0;
  for (Round round = 0; round < topology.cycle_length(); ++round)
    for (NodeId node = 0; node < topology.nodes(); ++node) {
      const std::size_t heard = topology.weighted(round)->into(node).size();
      arcs += heard;
      heard_max = std::max(heard_max, heard);
    }
  constexpr double kExact = 1e-12;
  const double left = left_after_cycle(topology);
  return fmt::format(
      "{} nodes, {} heard in a round at most, {:.3g} in the mean; after {} all {}",
      topology.nodes(), heard_max,
      static_cast<double>(arcs) / topology.nodes() / topology.cycle_length(),
      topology.cycle_length() == 1 ? "every round"
                                   : fmt::format("a cycle of {} rounds", topology.cycle_length()),
      left < kExact ? "have the exact mean" : fmt::format("are {:.2g} as far apart", left));
}

}  // namespace

std::string describe(const Topology& topology) {
  if (topology.has_weights()) return describe_cycle(topology);
  const GraphFigures figures = figures_of(*topology.graph(0));
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const std::string degrees =
      figures.degree_min == figures.degree_max
          ? counted(figures.degree_min, "peer") + " each"
          : fmt::format("{} to {} peers ({:.3g} in the mean)", figures.degree_min,
                        figures.degree_max, figures.degree_mean);
  return fmt::format("{}, {}, {}, spectral gap {:.3g} (second eigenvalue {:.4f}){}",
                     counted(figures.nodes, "node"), counted(figures.edges, "edge"), degrees,
                     figures.spectral_gap(), figures.second_eigenvalue,
                     topology.redrawn() ? "; redrawn each round, these are round 0's" : "");
}

std::vector<Edge> edges_to_draw(const Graph& graph) {
  constexpr std::size_t kEdgesMax = 100'000;
  return graph.edge_count() <= kEdgesMax ? graph.edges() : std::vector<Edge>();
}

}  // namespace tessera
