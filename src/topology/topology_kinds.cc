#include "topology/topology_kinds.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "topology/edge_list.h"

namespace tessera {
namespace {

constexpr double kEdgesMax = 1e8;

// The options accepted give a connected graph at least once in a hundred attempts, so this many
// fail with a probability below 1e-40.
constexpr std::uint64_t kAttemptsMax = 10'000;

}  // namespace

std::uint32_t read_degree(Options& options, std::uint32_t fallback) {
  return static_cast<std::uint32_t>(options.integer("degree", fallback, between(1, 1e9)));
}

void require_few_edges(const Options& options, double edges) {
  if (edges > kEdgesMax)
    throw std::invalid_argument(
        fmt::format("{}: {:.3g} edges are more than {:.0g}; use fewer nodes or fewer peers for "
                    "each, or a protocol that samples its peers (epidemic, divshare)",
                    options.name(), edges, kEdgesMax));
}

Graph first_connected(const Random& random, const Attempt& attempt) {
  for (std::uint64_t i = 0;; ++i) {
    CHECK(i < kAttemptsMax);
    std::optional<Graph> graph = attempt(random.fork("attempt", i));
    if (graph && is_connected(*graph)) return *std::move(graph);
  }
}

Scheme make_from_file(Options& options, std::uint32_t nodes) {
  const std::string path = options.text("path");
  options.done();
  const Result<Graph> graph = read_edge_list(path);
  if (!graph) options.refuse("path", graph.error().message);
  if (graph->nodes() != nodes)
    options.refuse("path", fmt::format("{} has {} nodes and the experiment {}; set nodes={} or use "
                                       "another file",
                                       path, graph->nodes(), nodes, graph->nodes()));
  if (!is_connected(*graph))
    options.refuse("path", fmt::format("{} falls apart into {}; add edges between them", path,
                                       show_components(components(*graph))));
  return [graph = *graph](const Random&) { return graph; };
}

}  // namespace tessera
