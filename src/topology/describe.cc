#include "topology/describe.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string describe(const Topology& topology) {
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

}  // namespace tessera
