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
Scheme make_shape(Options& options, std::uint32_t nodes) {
  options.done();
  return [nodes](const Random&) { return shape(nodes); };
}

Scheme make_full(Options& options, std::uint32_t nodes) {
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
    {"torus", "torus", "four peers on a rectangle whose opposite sides meet", Redraw::kPlaces,
     make_torus},
    {"hypercube", "hypercube",
     "peers differ in one binary digit; peers=one: in round t in digit t, exact in log2(n) rounds",
     Redraw::kNothing, make_hypercube},
    {"exponential", "exponential", "one way, to the nodes 1, 2, 4, 8, ... further on",
     Redraw::kNothing, make_exponential},
    {"one-peer-exponential", "one-peer-exponential:at_once=1",
     "one way, in round t to the node 2^t further on: exact in log2(n) rounds if n is a power of 2",
     Redraw::kCycle, make_one_peer_exponential},
    {"base", "base:peers=1",
     "Base-(k+1) with k=peers: rounds of few peers, after a cycle of which averages are exact",
     Redraw::kCycle, make_base_graph},
    {"matching", "matching", "random pairs, others in every round", Redraw::kAlways, make_matching},
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
  const bool always = kind.redraw == Redraw::kAlways;
  const bool redraw = options.yes("redraw", always);
  if (redraw && kind.redraw == Redraw::kNothing)
    options.refuse("redraw",
                   fmt::format("the graph of '{}' is the same in every round; leave it out, or use "
                               "regular:redraw=yes",
                               kind.name));
  if (redraw && kind.redraw == Redraw::kCycle)
    options.refuse("redraw", fmt::format("'{}' goes through a cycle of graphs of its own; leave it "
                                         "out, or use regular:redraw=yes",
                                         kind.name));
  if (!redraw && always)
    options.refuse("redraw", fmt::format("'{}' is drawn anew in every round, as pairs that stay "
                                         "know nobody else; leave it out",
                                         kind.name));
  return redraw;
}

std::unique_ptr<const Topology> drawn_topology(const TopologyKind& kind, DrawGraph draw,
                                               bool redraw, std::uint32_t nodes,
                                               const Random& random) {
  if (!redraw) return std::make_unique<const Topology>(draw(random.fork("round", 0)));
  if (kind.redraw == Redraw::kPlaces) draw = with_shuffled_places(std::move(draw));
  return std::make_unique<const Topology>(nodes, std::move(draw), random);
}

}  // namespace

Topology::Topology(Graph graph) : nodes_(graph.nodes()) {
  drawn_[0].graph = std::make_shared<const Graph>(std::move(graph));
}

Topology::Topology(std::uint32_t nodes, DrawGraph draw, const Random& random)
    : nodes_(nodes), draw_(std::move(draw)), random_(random) {
  CHECK(draw_ != nullptr);
}

Topology::Topology(std::uint32_t nodes, Cycle cycle) : nodes_(nodes), cycle_(std::move(cycle)) {
  CHECK(cycle_.step != nullptr);
  CHECK(cycle_.length > 0);
}

// Drawing under the lock makes those who ask at the same time wait for one draw instead of each
// making their own.
const Topology::Drawn& Topology::drawn(Round round) const {
  if (has_weights()) round %= cycle_.length;
  Drawn& drawn = drawn_[round % kKept];
  if (drawn.graph && drawn.round == round) return drawn;
  drawn = {.round = round};
  if (has_weights()) {
    drawn.weighted = std::make_shared<const WeightedGraph>(cycle_.step(round));
    drawn.graph = std::shared_ptr<const Graph>(drawn.weighted, &drawn.weighted->graph());
  } else {
    drawn.graph = std::make_shared<const Graph>(draw_(random_.fork("round", round)));
  }
  CHECK(drawn.graph->nodes() == nodes_);
  return drawn;
}

std::shared_ptr<const Graph> Topology::graph(Round round) const {
  if (!redrawn() && !has_weights()) return drawn_[0].graph;
  const std::lock_guard lock(mutex_);
  return drawn(round).graph;
}

std::shared_ptr<const WeightedGraph> Topology::weighted(Round round) const {
  CHECK(has_weights());
  const std::lock_guard lock(mutex_);
  return drawn(round).weighted;
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
  Scheme scheme = kind.make(options, nodes);
  if (auto* const cycle = std::get_if<Cycle>(&scheme))
    return std::make_unique<const Topology>(nodes, std::move(*cycle));
  return drawn_topology(kind, std::get<DrawGraph>(std::move(scheme)), redraw, nodes,
                        random.fork("topology").fork(kind.name));
}

}  // namespace tessera
