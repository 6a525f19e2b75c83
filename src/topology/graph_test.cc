#include "topology/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "topology/pairing.h"
#include "topology/shapes.h"

namespace tessera {
namespace {

using Nodes = std::vector<NodeId>;

Nodes peers_of(const Graph& graph, NodeId node) {
  return {graph.peers(node).begin(), graph.peers(node).end()};
}

// Five nodes; the edge 0-3 is named three times, in both directions, and node 4 has none.
TEST(Graph, EdgesInAnyOrderDirectionAndNumber) {
  const std::vector<Edge> edges = {{3, 0}, {0, 3}, {2, 1}, {0, 1}, {3, 0}};
  const Graph graph(5, edges);
  EXPECT_EQ(graph.nodes(), 5u);
  EXPECT_EQ(graph.edge_count(), 3u);
  EXPECT_EQ(peers_of(graph, 0), (Nodes{1, 3}));
  EXPECT_EQ(peers_of(graph, 1), (Nodes{0, 2}));
  EXPECT_EQ(peers_of(graph, 2), (Nodes{1}));
  EXPECT_EQ(peers_of(graph, 3), (Nodes{0}));
  EXPECT_EQ(peers_of(graph, 4), (Nodes{}));
  EXPECT_TRUE(graph.has_edge(3, 0));
  EXPECT_FALSE(graph.has_edge(3, 1));
  EXPECT_EQ(graph.edges(), (std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}}));
  EXPECT_EQ(graph, Graph(5, graph.edges()));
  EXPECT_NE(graph, Graph(6, graph.edges()));
}

TEST(GraphDeathTest, EdgesMustBePossible) {
  EXPECT_DEATH(Graph(3, std::vector<Edge>{{0, 3}}), "edge.b < nodes");
  EXPECT_DEATH(Graph(3, std::vector<Edge>{{1, 1}}), "edge.a != edge.b");
}

TEST(Graph, Components) {
  const std::vector<Edge> edges = {{4, 1}, {2, 0}, {5, 4}};
  const Graph graph(6, edges);
  EXPECT_FALSE(is_connected(graph));
  EXPECT_EQ(components(graph), (std::vector<Nodes>{{0, 2}, {1, 4, 5}, {3}}));
  EXPECT_TRUE(is_connected(line_graph(6)));
  EXPECT_EQ(components(line_graph(3)), (std::vector<Nodes>{{0, 1, 2}}));
  EXPECT_TRUE(is_connected(Graph(1, {})));
  EXPECT_FALSE(is_connected(Graph(2, {})));
}

// Lines, stars and even rings have two sides; a ring of odd length has not.
TEST(Graph, Sides) {
  constexpr Side a = Side::kFirst, b = Side::kSecond;
  EXPECT_EQ(sides_of(line_graph(4)), (std::vector<Side>{a, b, a, b}));
  EXPECT_EQ(sides_of(star_graph(4)), (std::vector<Side>{a, b, b, b}));
  EXPECT_EQ(sides_of(ring_graph(6)), (std::vector<Side>{a, b, a, b, a, b}));
  EXPECT_EQ(sides_of(ring_graph(5)), std::nullopt);
  EXPECT_EQ(sides_of(full_graph(3)), std::nullopt);
  EXPECT_EQ(sides_of(full_graph(2)), (std::vector<Side>{a, b}));
  EXPECT_EQ(sides_of(full_graph(1)), (std::vector<Side>{a}));
}

TEST(Shapes, EdgesByHand) {
  EXPECT_EQ(line_graph(4).edges(), (std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(ring_graph(4).edges(), (std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_EQ(star_graph(4).edges(), (std::vector<Edge>{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(full_graph(3).edges(), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(ring_through(Nodes{2, 0, 3, 1}).edges(),
            (std::vector<Edge>{{0, 2}, {0, 3}, {1, 2}, {1, 3}}));
  // Node 2 takes place 0, the middle of the star.
  EXPECT_EQ(with_places(star_graph(3), Nodes{1, 2, 0}).edges(),
            (std::vector<Edge>{{0, 2}, {1, 2}}));
}

TEST(Shapes, OneAndTwoNodes) {
  for (auto* const shape : {line_graph, ring_graph, star_graph, full_graph}) {
    EXPECT_EQ(shape(1).edge_count(), 0u);
    EXPECT_EQ(shape(1).nodes(), 1u);
    EXPECT_EQ(shape(2).edges(), (std::vector<Edge>{{0, 1}}));
  }
}

// Degrees taken from random graphs, so that a graph with them exists. Whatever is drawn has exactly
// these degrees, which also says that no edge is a loop or came twice.
TEST(Pairing, DegreesAreExact) {
  const Random root(7);
  int drawn = 0;
  for (std::uint64_t world = 0; world < 300; ++world) {
    Random random = root.fork("world", world);
    const auto nodes = static_cast<std::uint32_t>(2 + random.below(40));
    const double p = 0.5 * random.uniform();
    std::vector<Edge> edges;
    for (NodeId a = 0; a < nodes; ++a)
      for (NodeId b = a + 1; b < nodes; ++b)
        if (random.uniform() < p) edges.push_back({a, b});
    std::vector<std::uint32_t> degrees(nodes);
    for (const Edge& edge : edges) ++degrees[edge.a], ++degrees[edge.b];
    const auto pairs = draw_pairs(degrees, random);
    if (!pairs) continue;  // Small and crowded graphs may need another attempt.
    ++drawn;
    ASSERT_EQ(pairs->size(), edges.size());
    const Graph graph(nodes, *pairs);
    for (NodeId node = 0; node < nodes; ++node) ASSERT_EQ(graph.degree(node), degrees[node]);
  }
  EXPECT_GT(drawn, 250);
}

TEST(Pairing, AcrossStaysAcross) {
  Random random(8);
  for (const std::uint32_t half : {2u, 5u, 40u}) {
    const std::vector<std::uint32_t> degrees(2 * half, std::max(1u, half / 2));
    const auto pairs = draw_pairs_across(degrees, half, random);
    ASSERT_TRUE(pairs);
    const Graph graph(2 * half, *pairs);
    for (NodeId node = 0; node < graph.nodes(); ++node) {
      EXPECT_EQ(graph.degree(node), degrees[node]);
      for (const NodeId peer : graph.peers(node)) EXPECT_NE(peer < half, node < half);
    }
  }
}

}  // namespace
}  // namespace tessera
