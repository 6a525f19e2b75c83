// What each random kind promises beyond the table's common ground.
#include "topology/topology_kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/edge_list.h"
#include "topology/erdos_renyi.h"
#include "topology/shapes.h"

namespace tessera {
namespace {

Graph draw(const std::string& spec, std::uint32_t nodes, std::uint64_t seed) {
  return *make_topology(spec, nodes, Random(seed))->graph(0);
}

std::string refusal(const std::string& spec, std::uint32_t nodes) {
  try {
    (void)make_topology(spec, nodes, Random(1));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

// How often each graph comes out of many seeds.
std::map<std::string, int> frequencies(const std::string& spec, std::uint32_t nodes, int draws) {
  std::map<std::string, int> counts;
  for (int seed = 0; seed < draws; ++seed)
    ++counts[to_edge_list(draw(spec, nodes, static_cast<std::uint64_t>(seed)))];
  return counts;
}

void expect_regular(const Graph& graph, std::uint32_t degree) {
  SCOPED_TRACE(fmt::format("{} nodes of degree {}", graph.nodes(), degree));
  EXPECT_TRUE(is_connected(graph));
  for (NodeId node = 0; node < graph.nodes(); ++node) EXPECT_EQ(graph.degree(node), degree);
}

// All degrees that n nodes can have, from a ring to everybody.
TEST(Regular, EveryPossibleDegreeIsExact) {
  for (std::uint32_t nodes = 3; nodes <= 24; ++nodes)
    for (std::uint32_t degree = 2; degree < nodes; ++degree) {
      if (nodes * degree % 2 == 1) continue;
      for (std::uint64_t seed = 0; seed < 20; ++seed)
        expect_regular(draw(fmt::format("regular:degree={}", degree), nodes, seed), degree);
    }
}

TEST(Regular, LargeGraphs) {
  for (const std::uint32_t degree : {2u, 3u, 4u, 6u, 10u}) {
    expect_regular(draw(fmt::format("regular:degree={}", degree), 10'000, 1), degree);
    expect_regular(draw(fmt::format("regular:degree={}", degree), 1'000, 2), degree);
  }
  expect_regular(draw("regular:degree=199", 400, 1), 199);
  expect_regular(draw("regular:degree=300", 400, 1), 300);
}

// Six nodes have 70 labelled cubic graphs, 60 prisms and 10 of three nodes against three. All turn
// up in 7,000 draws, the rarest not much rarer than the 100 times of its fair part.
TEST(Regular, EveryGraphIsDrawn) {
  const auto counts = frequencies("regular:degree=3", 6, 7'000);
  EXPECT_EQ(counts.size(), 70u);
  for (const auto& [text, count] : counts) {
    EXPECT_GT(count, 40) << text;
    EXPECT_LT(count, 200) << text;
  }
}

// Five nodes have 12 rings; 1,200 draws give each 100 times, with a deviation of 10.
TEST(Regular, RingsAreUniform) {
  const auto counts = frequencies("regular:degree=2", 5, 1'200);
  EXPECT_EQ(counts.size(), 12u);
  for (const auto& [text, count] : counts) EXPECT_NEAR(count, 100, 45) << text;
}

TEST(Regular, ImpossibleDegreesAreRefused) {
  EXPECT_EQ(refusal("regular:degree=8", 8),
            "regular: degree: 8 peers each need at least 9 nodes, and nodes is 8; use a smaller "
            "degree or more nodes");
  EXPECT_EQ(refusal("regular", 1),
            "regular: degree: 4 peers each need at least 5 nodes, and nodes is 1; use a smaller "
            "degree or more nodes");
  EXPECT_EQ(refusal("regular:degree=3", 97),
            "regular: degree: 97 nodes cannot have 3 peers each, as an edge has two ends; make one "
            "of the two even");
  EXPECT_EQ(refusal("regular:degree=1", 4),
            "regular: degree: 1 makes pairs that know nobody else, and nodes is 4; use degree=2 or "
            "more");
  EXPECT_EQ(refusal("regular:degree=0", 4), "regular: degree: 0 must be in [1, 1000000000]");
  EXPECT_EQ(refusal("regular:degre=3", 8),
            "regular: there is no option 'degre'. Did you mean 'degree'?");
  EXPECT_NE(refusal("regular:degree=100000", 1'000'000).find("5e+10 edges"), std::string::npos);
}

TEST(SmallWorld, WithoutRewiringItIsTheLattice) {
  const Graph graph = draw("small-world:degree=6,rewire=0", 20, 1);
  for (NodeId node = 0; node < 20; ++node)
    for (NodeId other = 0; other < 20; ++other) {
      const std::uint32_t ahead = (other + 20 - node) % 20;
      EXPECT_EQ(graph.has_edge(node, other), ahead != 0 && (ahead <= 3 || ahead >= 17));
    }
}

// A thousand nodes of degree 4 keep their 2,000 edges; about one in ten leads away from the ring.
TEST(SmallWorld, RewiresTheFractionAsked) {
  const Graph graph = draw("small-world:degree=4,rewire=0.1", 1'000, 3);
  EXPECT_EQ(graph.edge_count(), 2'000u);
  int far = 0;
  for (const Edge& edge : graph.edges()) {
    const std::uint32_t apart = std::min(edge.b - edge.a, 1'000 - (edge.b - edge.a));
    far += apart > 2;
  }
  EXPECT_NEAR(far, 200, 60);
  for (NodeId node = 0; node < 1'000; ++node) EXPECT_GE(graph.degree(node), 2u);
}

TEST(SmallWorld, StaysConnectedHoweverMuchIsRewired) {
  for (const std::uint32_t nodes : {5u, 6u, 7u, 20u, 100u, 1'000u})
    for (const std::string rewire : {"0.5", "1"})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = draw("small-world:degree=4,rewire=" + rewire, nodes, seed);
        EXPECT_TRUE(is_connected(graph));
        EXPECT_EQ(graph.edge_count(), 2u * nodes);
      }
}

TEST(SmallWorld, ImpossibleOnesAreRefused) {
  for (const int degree : {2, 3, 5})
    EXPECT_EQ(refusal(fmt::format("small-world:degree={}", degree), 20),
              fmt::format("small-world: degree: {} must be even, half of it for each side of the "
                          "ring, and at least 4; for 2 there is 'ring'",
                          degree));
  EXPECT_EQ(refusal("small-world:degree=4", 4),
            "small-world: degree: 4 near peers need at least 5 nodes, and nodes is 4; use a "
            "smaller degree, or 'full'");
  EXPECT_EQ(refusal("small-world:rewire=1.5", 20), "small-world: rewire: 1.5 must be in [0, 1]");
}

// Even nodes have exactly the degree asked; odd ones too, or as nearly as their smaller number
// allows. Node 0 is on the first side, so that side is the even one.
TEST(Bipartite, SidesAndDegrees) {
  for (std::uint32_t nodes = 4; nodes <= 25; ++nodes)
    for (std::uint32_t degree = 2; degree <= nodes / 2; ++degree)
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE(fmt::format("{} nodes of degree {}, seed {}", nodes, degree, seed));
        const Graph graph = draw(fmt::format("bipartite:degree={}", degree), nodes, seed);
        ASSERT_TRUE(is_connected(graph));
        const auto sides = sides_of(graph);
        ASSERT_TRUE(sides);
        const std::uint32_t ends = (nodes - nodes / 2) * degree, least = ends / (nodes / 2);
        for (NodeId node = 0; node < nodes; ++node) {
          EXPECT_EQ((*sides)[node], node % 2 == 0 ? Side::kFirst : Side::kSecond);
          if (node % 2 == 0) {
            EXPECT_EQ(graph.degree(node), degree);
          } else {
            EXPECT_GE(graph.degree(node), least);
            EXPECT_LE(graph.degree(node), least + (ends % (nodes / 2) != 0));
          }
        }
      }
}

TEST(Bipartite, LargeGraphs) {
  for (const std::uint32_t degree : {2u, 3u, 4u})
    for (const std::uint32_t nodes : {1'000u, 9'999u})
      EXPECT_TRUE(is_connected(draw(fmt::format("bipartite:degree={}", degree), nodes, 1)));
}

TEST(Bipartite, ImpossibleOnesAreRefused) {
  EXPECT_EQ(refusal("bipartite:degree=4", 7),
            "bipartite: degree: 4 peers on the odd side need at least 8 nodes, and nodes is 7; use "
            "a smaller degree or more nodes");
  EXPECT_EQ(refusal("bipartite:degree=1", 4),
            "bipartite: degree: 1 makes pairs that know nobody else, and nodes is 4; use degree=2 "
            "or more");
  EXPECT_NE(refusal("bipartite", 1), "(accepted)");
}

// With p = 1/2 the four connected graphs of three nodes are equally likely.
TEST(ErdosRenyi, ConnectedGraphsAreUniformAtOneHalf) {
  const auto counts = frequencies("erdos-renyi:p=0.5", 3, 2'000);
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [text, count] : counts) EXPECT_NEAR(count, 500, 80) << text;
}

// 300 nodes with 12 peers in the mean: nearly always connected, so the number of edges over 200
// draws has the mean 1,800 with a deviation of 42 / sqrt(200) = 3.
TEST(ErdosRenyi, MeanDegree) {
  double edges = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    edges += static_cast<double>(draw("erdos-renyi:degree=12", 300, seed).edge_count());
  EXPECT_NEAR(edges / 200, 1'800, 12);
  EXPECT_EQ(draw("erdos-renyi:p=1", 9, 1), full_graph(9));
  EXPECT_EQ(draw("erdos-renyi:degree=8", 9, 1), full_graph(9));
}

// Closed forms of up to four nodes, by counting the connected graphs with each number of edges.
TEST(ErdosRenyi, ChanceConnected) {
  for (const double p : {0.01, 0.1, 0.3, 0.5, 0.9, 0.99}) {
    const double q = 1 - p;
    EXPECT_NEAR(chance_connected(2, p), p, 1e-12);
    EXPECT_NEAR(chance_connected(3, p), 3 * p * p * q + p * p * p, 1e-12);
    EXPECT_NEAR(chance_connected(4, p),
                16 * p * p * p * q * q * q + 15 * std::pow(p, 4) * q * q + 6 * std::pow(p, 5) * q +
                    std::pow(p, 6),
                1e-12);
  }
  EXPECT_EQ(chance_connected(1, 0.1), 1);
  EXPECT_EQ(chance_connected(50, 1), 1);
  // Where the exact sum hands over to the limit, the two agree.
  for (double p = 0.01; p < 0.5; p += 0.001)
    EXPECT_NEAR(chance_connected(30, p), std::exp(-30 * std::pow(1 - p, 29)), 0.013);
  EXPECT_NEAR(chance_connected(100, 0.05), std::exp(-100 * std::pow(0.95, 99)), 1e-12);
}

// The remedy that a refusal names must itself be accepted.
TEST(ErdosRenyi, HopelessOnesAreRefused) {
  EXPECT_EQ(refusal("erdos-renyi:degree=2", 100),
            "erdos-renyi: 100 nodes with 2 peers in the mean are hardly ever connected (chance "
            "2e-06); use degree=5.7 or p=0.057, or more");
  for (const std::uint32_t nodes : {2u, 3u, 5u, 10u, 100u, 1'000u, 10'000u}) {
    const std::string message = refusal("erdos-renyi:p=0.0001", nodes);
    SCOPED_TRACE(message);
    const std::size_t at = message.find("degree=");
    ASSERT_NE(at, message.npos);
    const std::string degree = message.substr(at, message.find(' ', at) - at);
    EXPECT_EQ(refusal("erdos-renyi:" + degree, nodes), "(accepted)");
  }
  EXPECT_EQ(refusal("erdos-renyi", 20),
            "erdos-renyi: p: give p, such as p=0.1, or the mean degree, such as degree=8");
  EXPECT_EQ(refusal("erdos-renyi:p=0.5,degree=3", 20),
            "erdos-renyi: degree: give p or degree, not both");
  EXPECT_EQ(refusal("erdos-renyi:p=0", 20), "erdos-renyi: p: 0 must be in (0, 1]");
  EXPECT_EQ(refusal("erdos-renyi:degree=20", 20),
            "erdos-renyi: degree: 20 peers in the mean need more than 20 nodes; use a smaller "
            "degree or more nodes");
}

}  // namespace
}  // namespace tessera
