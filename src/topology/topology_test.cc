// What every line of the table must show: connected, symmetric, sorted, without loops, the same for
// everyone given the seed, and, redrawn, the same in whatever order and from whatever thread.
#include "topology/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/threads.h"
#include "topology/describe.h"
#include "topology/shapes.h"

namespace tessera {
namespace {

constexpr std::array<std::uint32_t, 8> kSizes = {16, 17, 24, 25, 60, 96, 97, 300};

// The kinds that need no file, which has tests of its own.
std::vector<TopologyKind> kinds() {
  std::vector<TopologyKind> list;
  for (const TopologyKind& kind : topologies())
    if (kind.name != "file") list.push_back(kind);
  return list;
}

std::string redrawn_spec(const TopologyKind& kind) {
  const bool has_options = kind.usage.find(':') != std::string_view::npos;
  return fmt::format("{}{}redraw=yes", kind.usage, has_options ? ',' : ':');
}

std::string refusal(std::string_view spec, std::uint32_t nodes) {
  try {
    (void)make_topology(spec, nodes, Random(1));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

// Kinds whose rounds differ by themselves: each has few edges, and some rounds together connect
// all.
bool changes_by_itself(const TopologyKind& kind) {
  return kind.redraw == Redraw::kCycle || kind.redraw == Redraw::kAlways;
}

bool can_be_redrawn(const TopologyKind& kind) {
  return kind.redraw != Redraw::kNothing && kind.redraw != Redraw::kCycle;
}

// A torus needs a rectangle.
bool fits(const TopologyKind& kind, std::uint32_t nodes) {
  return kind.name != "torus" || (nodes != 17 && nodes != 97);
}

void expect_connected_over_time(const Topology& topology, Round rounds) {
  std::vector<Edge> all;
  for (Round round = 0; round < rounds; ++round)
    for (const Edge& edge : topology.graph(round)->edges()) all.push_back(edge);
  EXPECT_TRUE(is_connected(Graph(topology.nodes(), all)));
}

void expect_sound(const Graph& graph, std::uint32_t nodes, std::string_view what,
                  bool connected = true) {
  SCOPED_TRACE(fmt::format("{} with {} nodes", what, nodes));
  ASSERT_EQ(graph.nodes(), nodes);
  EXPECT_TRUE(is_connected(graph) || !connected);
  for (NodeId node = 0; node < nodes; ++node) {
    const std::span<const NodeId> peers = graph.peers(node);
    EXPECT_TRUE(std::is_sorted(peers.begin(), peers.end()));
    EXPECT_EQ(std::adjacent_find(peers.begin(), peers.end()), peers.end());
    for (const NodeId peer : peers) {
      EXPECT_NE(peer, node);
      EXPECT_TRUE(graph.has_edge(peer, node));
    }
  }
}

constexpr std::uint64_t kSeeds = TESSERA_SANITIZED ? 1 : 5;

TEST(EveryTopology, IsSoundAtAllSizes) {
  for (const TopologyKind& kind : kinds())
    for (const std::uint32_t nodes : kSizes)
      for (std::uint64_t seed = 1; seed <= kSeeds && fits(kind, nodes); ++seed) {
        const auto topology = make_topology(kind.usage, nodes, Random(seed));
        expect_sound(*topology->graph(0), nodes, kind.usage, !changes_by_itself(kind));
        expect_connected_over_time(*topology, 20);
      }
}

TEST(EveryTopology, RedrawnIsSoundInEveryRound) {
  for (const TopologyKind& kind : kinds()) {
    if (!can_be_redrawn(kind)) continue;
    for (const std::uint32_t nodes : {17u, 96u}) {
      if (!fits(kind, nodes)) continue;
      const auto topology = make_topology(redrawn_spec(kind), nodes, Random(3));
      EXPECT_TRUE(topology->redrawn());
      for (Round round = 0; round < 50; ++round)
        expect_sound(*topology->graph(round), nodes, kind.name, !changes_by_itself(kind));
    }
  }
}

TEST(EveryTopology, IsAFunctionOfTheSeed) {
  for (const TopologyKind& kind : kinds()) {
    const auto graph_of = [&](std::uint64_t seed) {
      return *make_topology(kind.usage, 96, Random(seed))->graph(0);
    };
    EXPECT_EQ(graph_of(5), graph_of(5)) << kind.name;
    if (kind.redraw == Redraw::kEdges || kind.redraw == Redraw::kAlways) {
      EXPECT_NE(graph_of(5), graph_of(6)) << kind.name;
    } else {
      EXPECT_EQ(graph_of(5), graph_of(6)) << kind.name;
    }
  }
}

TEST(EveryTopology, FixedIsTheSameInEveryRound) {
  for (const TopologyKind& kind : kinds()) {
    if (changes_by_itself(kind)) continue;
    const auto topology = make_topology(kind.usage, 24, Random(5));
    EXPECT_EQ(topology->graph(0), topology->graph(12'345)) << kind.name;
  }
}

// Rounds far apart share a place in the cache; asked for backwards, they must come out the same.
TEST(EveryTopology, RedrawnDiffersByRoundAndNotByOrder) {
  for (const TopologyKind& kind : kinds()) {
    if (!can_be_redrawn(kind)) continue;
    const auto forwards = make_topology(redrawn_spec(kind), 60, Random(5));
    const auto backwards = make_topology(redrawn_spec(kind), 60, Random(5));
    std::vector<Graph> graphs;
    for (Round round = 0; round < 30; ++round) graphs.push_back(*forwards->graph(round));
    for (Round round = 30; round-- > 0;) EXPECT_EQ(*backwards->graph(round), graphs[round]);
    for (Round round = 1; round < 30; ++round) EXPECT_NE(graphs[round], graphs[round - 1]);
    EXPECT_EQ(*forwards->graph(0), graphs[0]);
    EXPECT_NE(*make_topology(redrawn_spec(kind), 60, Random(6))->graph(0), graphs[0]) << kind.name;
  }
}

// Four threads ask for 60 rounds, each in its own order and two at once for most of them.
TEST(EveryTopology, RedrawnIsTheSameFromAnyThread) {
  constexpr Round kRounds = 60;
  Workers workers(4);
  for (const TopologyKind& kind : kinds()) {
    if (!can_be_redrawn(kind)) continue;
    const auto alone = make_topology(redrawn_spec(kind), 48, Random(9));
    const auto shared = make_topology(redrawn_spec(kind), 48, Random(9));
    std::array<std::vector<std::vector<NodeId>>, 4> seen;
    workers.for_each(seen.size(), [&](std::size_t asker) {
      seen[asker].resize(kRounds);
      for (Round i = 0; i < kRounds; ++i) {
        const Round round = asker < 2 ? i : (i * 7 + static_cast<Round>(asker)) % kRounds;
        seen[asker][round] = shared->peers(static_cast<NodeId>(round % 48), round);
      }
    });
    for (const auto& rounds : seen)
      for (Round round = 0; round < kRounds; ++round)
        ASSERT_EQ(rounds[round], alone->peers(static_cast<NodeId>(round % 48), round)) << kind.name;
  }
}

TEST(Topology, AGraphOutlivesItsPlaceInTheCache) {
  const auto topology = make_topology("regular:degree=4,redraw=yes", 96, Random(2));
  const std::shared_ptr<const Graph> held = topology->graph(3);
  const Graph copy = *held;
  for (Round round = 4; round < 200; ++round) (void)topology->graph(round);
  EXPECT_EQ(*held, copy);
  EXPECT_EQ(topology->graph(199), topology->graph(199));  // Drawn once, shared by all.
}

TEST(Topology, ARedrawnShapeKeepsItsShape) {
  const auto star = make_topology("star:redraw=yes", 40, Random(2));
  std::set<NodeId> middles;
  for (Round round = 0; round < 100; ++round) {
    const auto graph = star->graph(round);
    EXPECT_EQ(graph->edge_count(), 39u);
    for (NodeId node = 0; node < 40; ++node)
      if (graph->degree(node) == 39) middles.insert(node);
  }
  EXPECT_GT(middles.size(), 30u);  // About 37 of 40 in the mean.
}

TEST(Topology, OneTwoAndThreeNodesWhereTheyMakeSense) {
  for (const std::string_view spec :
       {"ring", "line", "star", "full", "ring:redraw=yes", "line:redraw=yes", "star:redraw=yes",
        "erdos-renyi:p=0.9", "erdos-renyi:degree=1,redraw=yes"}) {
    EXPECT_TRUE(make_topology(spec, 1, Random(1))->peers(0, 5).empty()) << spec;
    EXPECT_EQ(make_topology(spec, 2, Random(1))->peers(1, 5), (std::vector<NodeId>{0})) << spec;
    expect_sound(*make_topology(spec, 3, Random(1))->graph(5), 3, spec);
  }
  EXPECT_EQ(*make_topology("regular:degree=1", 2, Random(1))->graph(0), full_graph(2));
  EXPECT_EQ(*make_topology("regular:degree=2", 3, Random(1))->graph(0), full_graph(3));
  EXPECT_EQ(*make_topology("bipartite:degree=1", 2, Random(1))->graph(0), full_graph(2));
  expect_sound(*make_topology("bipartite:degree=1", 3, Random(1))->graph(0), 3, "bipartite");
}

TEST(Topology, RefusalsSayWhatToChange) {
  EXPECT_EQ(refusal("rings", 8), "there is no topology 'rings'. Did you mean 'ring'?");
  EXPECT_EQ(refusal("ring:degree=2", 8), "ring: there is no option 'degree'. Known: redraw.");
  EXPECT_EQ(refusal("full:redraw=yes", 8),
            "full: redraw: the graph of 'full' is the same in every round; leave it out, or use "
            "regular:redraw=yes");
  EXPECT_EQ(refusal("base:redraw=yes", 8),
            "base: redraw: 'base' goes through a cycle of graphs of its own; leave it out, or use "
            "regular:redraw=yes");
  EXPECT_EQ(refusal("matching:redraw=no", 8),
            "matching: redraw: 'matching' is drawn anew in every round, as pairs that stay know "
            "nobody else; leave it out");
  EXPECT_EQ(refusal("torus", 97),
            "torus: rows: 97 nodes in one row are a ring; use topology=ring, or a number of nodes "
            "that makes a rectangle");
  EXPECT_EQ(refusal("full", 20'000),
            "full: 2e+08 edges are more than 1e+08; use fewer nodes or fewer peers for each, or a "
            "protocol that samples its peers (epidemic, divshare)");
  EXPECT_EQ(refusal("file", 8), "file: path is missing; write file:path=…");
}

TEST(Describe, IsOneLine) {
  EXPECT_EQ(describe(*make_topology("star", 4, Random(1))),
            "4 nodes, 3 edges, 1 to 3 peers (1.5 in the mean), spectral gap 0.25 (second "
            "eigenvalue 0.7500)");
  EXPECT_EQ(describe(*make_topology("full", 8, Random(1))),
            "8 nodes, 28 edges, 7 peers each, spectral gap 1 (second eigenvalue 0.0000)");
  EXPECT_EQ(describe(*make_topology("ring:redraw=yes", 4, Random(1))),
            "4 nodes, 4 edges, 2 peers each, spectral gap 0.667 (second eigenvalue 0.3333); "
            "redrawn each round, these are round 0's");
  EXPECT_EQ(describe(*make_topology("base:peers=2", 9, Random(1))),
            "9 nodes, 2 heard in a round at most, 2 in the mean; after a cycle of 2 rounds all "
            "have the exact mean");
  EXPECT_EQ(describe(*make_topology("exponential", 4, Random(1))).substr(0, 80),
            "4 nodes, 2 heard in a round at most, 2 in the mean; after every round all are 0.");
  EXPECT_EQ(describe(*make_topology("line", 1, Random(1))),
            "1 node, 0 edges, 0 peers each, spectral gap 1 (second eigenvalue 0.0000)");
  EXPECT_EQ(describe(*make_topology("line", 2, Random(1))),
            "2 nodes, 1 edge, 1 peer each, spectral gap 1 (second eigenvalue 0.0000)");
}

// A complete graph of 10,000 nodes took 9.7 GB to write down.
TEST(Describe, EdgesAreDrawnWhereThereAreFewEnoughToSee) {
  EXPECT_EQ(edges_to_draw(full_graph(3)), full_graph(3).edges());
  EXPECT_EQ(edges_to_draw(full_graph(400)).size(), 79'800u);
  EXPECT_TRUE(edges_to_draw(full_graph(500)).empty());
}

}  // namespace
}  // namespace tessera
