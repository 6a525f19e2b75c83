#include "topology/topology.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/table.h"
#include "topology/shapes.h"
#include "topology/topology_kinds.h"

namespace tessera {
namespace {

template <Graph (*shape)(std::uint32_t)>
DrawGraph make_shape(Options& options, std::uint32_t nodes) {
  options.done();
  return [nodes](const Random&) { return shape(nodes); };
}

DrawGraph make_full(Options& options, std::uint32_t nodes) {
  options.done();
  require_few_edges(options, 0.5 * nodes * (nodes - 1.0));
  return [nodes](const Random&) { return full_graph(nodes); };
}

constexpr TopologyKind kTopologies[] = {
    {"ring", "ring", "every node has two peers, in a circle", Redraw::kPlaces,
     make_shape<ring_graph>},
    {"line", "line", "a ring with one edge cut", Redraw::kPlaces, make_shape<line_graph>},
    {"star", "star", "node 0 talks to all, the others to node 0 only", Redraw::kPlaces,
     make_shape<star_graph>},
    {"full", "full", "everybody talks to everybody", Redraw::kNothing, make_full},
    {"regular", "regular:degree=4", "random, the same number of peers for all (JWINS, EL-Oracle)",
     Redraw::kEdges, make_regular},
    {"small-world", "small-world:degree=4,rewire=0.1",
     "near peers on a ring, some edges led elsewhere at random (Watts and Strogatz)",
     Redraw::kEdges, make_small_world},
    {"bipartite", "bipartite:degree=4", "random, even nodes talk to odd ones only (AD-PSGD)",
     Redraw::kEdges, make_bipartite},
    {"erdos-renyi", "erdos-renyi:degree=8",
     "every pair with probability p, or such that degree is the mean", Redraw::kEdges,
     make_erdos_renyi},
    {"file", "file:path=graph.edges",
     "an edge list: the number of nodes, then a line 'a b' per edge", Redraw::kNothing,
     make_from_file},
};

// In the same shape, every node moves to a random place.
DrawGraph with_shuffled_places(DrawGraph draw) {
  return [draw = std::move(draw)](const Random& random) {
    const Graph graph = draw(random);
    std::vector<NodeId> places(graph.nodes());
    std::iota(places.begin(), places.end(), NodeId{0});
    random.fork("places").shuffle(std::span(places));
    return with_places(graph, places);
  };
}

bool read_redraw(const TopologyKind& kind, Options& options) {
  const bool redraw = options.yes("redraw", false);
  if (redraw && kind.redraw == Redraw::kNothing)
    options.refuse("redraw", fmt::format("the graph of '{}' is the same in every round; leave it "
                                         "out, or use regular:redraw=yes",
                                         kind.name));
  return redraw;
}

}  // namespace

Topology::Topology(Graph graph) : nodes_(graph.nodes()) {
  drawn_[0].graph = std::make_shared<const Graph>(std::move(graph));
}

Topology::Topology(std::uint32_t nodes, DrawGraph draw, const Random& random)
    : nodes_(nodes), draw_(std::move(draw)), random_(random) {
  CHECK(draw_ != nullptr);
}

std::shared_ptr<const Graph> Topology::graph(Round round) const {
  if (!redrawn()) return drawn_[0].graph;
  // Drawing under the lock makes those who ask at the same time wait for one draw instead of each
  // making their own.
  const std::lock_guard lock(mutex_);
  Drawn& drawn = drawn_[round % kKept];
  if (!drawn.graph || drawn.round != round) {
    drawn = {round, std::make_shared<const Graph>(draw_(random_.fork("round", round)))};
    CHECK(drawn.graph->nodes() == nodes_);
  }
  return drawn.graph;
}

std::vector<NodeId> Topology::peers(NodeId node, Round round) const {
  CHECK(node < nodes_);
  const std::shared_ptr<const Graph> drawn = graph(round);
  const std::span<const NodeId> peers = drawn->peers(node);
  return {peers.begin(), peers.end()};
}

std::span<const TopologyKind> topologies() {
  return kTopologies;
}

std::unique_ptr<const Topology> make_topology(std::string_view spec, std::uint32_t nodes,
                                              const Random& random) {
  CHECK(nodes > 0);
  Options options(parse_spec(spec));
  const TopologyKind& kind = require_entry(topologies(), "topology", options.name());
  const bool redraw = read_redraw(kind, options);
  DrawGraph draw = kind.make(options, nodes);
  const Random own = random.fork("topology").fork(kind.name);
  if (!redraw) return std::make_unique<const Topology>(draw(own.fork("round", 0)));
  if (kind.redraw == Redraw::kPlaces) draw = with_shuffled_places(std::move(draw));
  return std::make_unique<const Topology>(nodes, std::move(draw), own);
}

}  // namespace tessera
