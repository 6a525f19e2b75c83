// Graphs with weights of their own: rounds keep the mean, and a cycle of those that promise it
// makes the mean exact. The published cases of BaseGraph's own test are n = 1 to 99 with k = 1
// to 4.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "topology/base_graph.h"
#include "topology/topology.h"

namespace tessera {
namespace {

using Matrix = std::vector<std::vector<double>>;

// y = W x for every column of x: row i takes what i hears, and keeps the rest of its own.
Matrix after_round(const WeightedGraph& round, const Matrix& x) {
  Matrix y = x;
  for (NodeId node = 0; node < round.nodes(); ++node)
    for (const Arc& arc : round.into(node))
      for (std::size_t c = 0; c < y[node].size(); ++c)
        y[node][c] += arc.weight * (x[arc.from][c] - x[node][c]);
  return y;
}

Matrix identity(std::size_t size) {
  Matrix x(size, std::vector<double>(size, 0.0));
  for (std::size_t i = 0; i < size; ++i) x[i][i] = 1;
  return x;
}

// The product of a cycle's matrices.
Matrix after_cycle(const Topology& topology) {
  Matrix x = identity(topology.nodes());
  for (Round round = 0; round < topology.cycle_length(); ++round)
    x = after_round(*topology.weighted(round), x);
  return x;
}

// How far from 1/n the farthest entry is, in parts of 1/n.
double unevenness(const Matrix& x) {
  double farthest = 0;
  for (const auto& row : x)
    for (const double value : row)
      farthest = std::max(farthest, std::abs(value * static_cast<double>(x.size()) - 1));
  return farthest;
}

std::uint32_t heard_max(const Topology& topology) {
  std::size_t most = 0;
  for (Round round = 0; round < topology.cycle_length(); ++round)
    for (NodeId node = 0; node < topology.nodes(); ++node)
      most = std::max(most, topology.weighted(round)->into(node).size());
  return static_cast<std::uint32_t>(most);
}

// Rows and columns sum to one, nothing is negative, and everybody keeps a part of its own.
void expect_doubly_stochastic(const WeightedGraph& round) {
  std::vector<double> heard(round.nodes(), 0.0), told(round.nodes(), 0.0);
  for (NodeId node = 0; node < round.nodes(); ++node)
    for (const Arc& arc : round.into(node)) {
      EXPECT_EQ(arc.to, node);
      EXPECT_NE(arc.from, node);
      EXPECT_GT(arc.weight, 0);
      EXPECT_EQ(round.weight(arc.from, arc.to), arc.weight);
      heard[node] += arc.weight;
      told[arc.from] += arc.weight;
    }
  for (NodeId node = 0; node < round.nodes(); ++node) {
    EXPECT_LT(heard[node], 1);
    EXPECT_NEAR(heard[node], told[node], 1e-12) << node;
    EXPECT_EQ(round.targets(node).size() > 0, told[node] > 0);
  }
}

TEST(WeightedGraph, SaysWhoTellsWhom) {
  const WeightedGraph graph(4, {{2, 1, 0.25}, {0, 1, 0.5}, {1, 3, 0.125}});
  EXPECT_EQ(graph.sources(1), (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(graph.targets(1), (std::vector<NodeId>{3}));
  EXPECT_EQ(graph.weight(2, 1), 0.25);
  EXPECT_EQ(graph.weight(1, 2), 0);
  EXPECT_EQ(graph.weight(3, 0), 0);
  EXPECT_TRUE(graph.graph().has_edge(1, 2));
  EXPECT_FALSE(graph.graph().has_edge(0, 2));
}

TEST(FiniteTime, RowsAndColumnsSumToOne) {
  for (const TopologyKind& kind : topologies()) {
    if (kind.name == "file") continue;
    for (const std::uint32_t nodes : {1u, 2u, 16u, 24u, 33u}) {
      if (nodes < 16 && (kind.redraw == Redraw::kEdges || kind.name == "torus")) continue;
      const auto topology = make_topology(kind.usage, nodes, Random(1));
      if (!topology->has_weights()) continue;
      SCOPED_TRACE(fmt::format("{} with {} nodes", kind.usage, nodes));
      for (Round round = 0; round < topology->cycle_length(); ++round)
        expect_doubly_stochastic(*topology->weighted(round));
    }
  }
}

// As BaseGraph's test has it: the product of the rounds is 1/n everywhere, and there are no more
// than 2 log_{k+1} n + 2 of them. Beyond it: no node has more than k peers.
TEST(BaseGraph, IsExactForAnyNumberOfNodesAndPeers) {
  for (std::uint32_t peers = 1; peers <= 4; ++peers)
    for (std::uint32_t nodes = 1; nodes < 100; ++nodes) {
      SCOPED_TRACE(fmt::format("{} nodes, {} peers", nodes, peers));
      const auto topology = make_topology(fmt::format("base:peers={}", peers), nodes, Random(1));
      EXPECT_LT(unevenness(after_cycle(*topology)), 1e-12);
      EXPECT_LE(topology->cycle_length(), 2 * std::log(nodes) / std::log(peers + 1) + 2);
      EXPECT_LE(heard_max(*topology), peers);
      for (Round round = 0; round < topology->cycle_length(); ++round)
        expect_doubly_stochastic(*topology->weighted(round));
    }
}

// One number mixed with itself through thousands of nodes.
TEST(BaseGraph, IsExactForManyNodes) {
  for (const std::uint32_t nodes : {1'000u, 1'009u, 4'096u, 10'007u})
    for (const std::uint32_t peers : {1u, 2u, 5u, 30u}) {
      const auto topology = make_topology(fmt::format("base:peers={}", peers), nodes, Random(1));
      Random random(nodes);
      Matrix x(nodes, std::vector<double>(1));
      double mean = 0;
      for (auto& row : x) mean += (row[0] = random.normal()) / nodes;
      for (Round round = 0; round < topology->cycle_length(); ++round)
        x = after_round(*topology->weighted(round), x);
      for (const auto& row : x) ASSERT_NEAR(row[0], mean, 1e-13) << nodes << " " << peers;
      EXPECT_LE(topology->cycle_length(), 2 * std::log(nodes) / std::log(peers + 1) + 2);
    }
}

// The paper's figures: five nodes take five rounds of one peer, six take four. 96 take eight.
TEST(BaseGraph, LengthsByHand) {
  EXPECT_EQ(base_graph_rounds(1, 1).size(), 0u);
  EXPECT_EQ(base_graph_rounds(2, 1).size(), 1u);
  EXPECT_EQ(base_graph_rounds(3, 1).size(), 3u);
  EXPECT_EQ(base_graph_rounds(5, 1).size(), 5u);
  EXPECT_EQ(base_graph_rounds(6, 1).size(), 4u);
  EXPECT_EQ(base_graph_rounds(64, 1).size(), 6u);
  EXPECT_EQ(base_graph_rounds(96, 1).size(), 8u);
  EXPECT_EQ(base_graph_rounds(96, 3).size(), 4u);  // 4 * 4 * 3 * 2
  EXPECT_EQ(base_graph_rounds(5, 4).size(), 1u);
  EXPECT_EQ(base_graph_rounds(5, 1'000'000).size(), 1u);
}

TEST(OnePeerExponential, IsExactForPowersOfTwo) {
  for (std::uint32_t nodes = 1; nodes <= 128; ++nodes) {
    const auto topology = make_topology("one-peer-exponential", nodes, Random(1));
    EXPECT_LE(topology->cycle_length(), std::max(1.0, std::ceil(std::log2(nodes))));
    EXPECT_LE(heard_max(*topology), 1u);
    if (std::has_single_bit(nodes)) {
      EXPECT_LT(unevenness(after_cycle(*topology)), 1e-12) << nodes;
    } else if (nodes > 2) {
      EXPECT_GT(unevenness(after_cycle(*topology)), 0.1) << nodes;
    }
  }
}

// Two averages in a round: 16 nodes have the exact mean after two rounds instead of four, and hear
// the three that lie one step, the other, and both back.
TEST(OnePeerExponential, TakesSeveralStepsAtOnce) {
  const auto topology = make_topology("one-peer-exponential:at_once=2", 16, Random(1));
  EXPECT_EQ(topology->cycle_length(), 2u);
  EXPECT_LT(unevenness(after_cycle(*topology)), 1e-12);
  EXPECT_EQ(topology->weighted(0)->sources(0), (std::vector<NodeId>{13, 14, 15}));
  EXPECT_EQ(topology->weighted(1)->sources(0), (std::vector<NodeId>{4, 8, 12}));
  EXPECT_EQ(topology->weighted(1)->weight(4, 0), 0.25);
  expect_doubly_stochastic(*topology->weighted(1));
  EXPECT_EQ(make_topology("one-peer-exponential:at_once=3", 16, Random(1))->cycle_length(), 4u);
  const auto pair = make_topology("one-peer-exponential:at_once=2", 2, Random(1));
  EXPECT_EQ(pair->weighted(0)->weight(1, 0), 0.5);
}

TEST(Exponential, TellsThoseAPowerOfTwoFurtherOn) {
  const auto topology = make_topology("exponential", 6, Random(1));
  EXPECT_FALSE(topology->redrawn());
  EXPECT_EQ(topology->weighted(7)->targets(4), (std::vector<NodeId>{0, 2, 5}));
  EXPECT_EQ(topology->weighted(7)->sources(0), (std::vector<NodeId>{2, 4, 5}));
  EXPECT_EQ(topology->weighted(0)->weight(4, 0), 0.25);
  EXPECT_EQ(topology->weighted(0)->weight(0, 5), 0);
}

TEST(Hypercube, OnePeerAtATimeIsExact) {
  for (const std::uint32_t nodes : {1u, 2u, 4u, 64u}) {
    const auto topology = make_topology("hypercube:peers=one", nodes, Random(1));
    EXPECT_EQ(topology->cycle_length(),
              std::max(1u, static_cast<std::uint32_t>(std::bit_width(nodes)) - 1));
    EXPECT_LT(unevenness(after_cycle(*topology)), 1e-12) << nodes;
  }
  try {
    (void)make_topology("hypercube:peers=one", 96, Random(1));
    ADD_FAILURE() << "96 nodes are no hypercube";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "hypercube: peers: one at a time needs 2, 4, 8, ... nodes, and nodes is 96; "
                 "topology=base is exact for any number");
  }
}

TEST(Hypercube, CornersDifferInOneDigit) {
  const auto whole = make_topology("hypercube", 16, Random(1))->graph(0);
  for (NodeId node = 0; node < 16; ++node) EXPECT_EQ(whole->degree(node), 4u);
  const auto most = make_topology("hypercube", 11, Random(1))->graph(0);
  for (const Edge& edge : most->edges()) EXPECT_TRUE(std::has_single_bit(edge.a ^ edge.b));
  EXPECT_TRUE(is_connected(*most));
}

TEST(Torus, HasFourPeersEach) {
  const auto graph = make_topology("torus", 96, Random(1))->graph(0);  // 8 rows of 12.
  for (NodeId node = 0; node < 96; ++node) EXPECT_EQ(graph->degree(node), 4u);
  EXPECT_TRUE(graph->has_edge(0, 11));
  EXPECT_TRUE(graph->has_edge(0, 84));
  EXPECT_TRUE(graph->has_edge(0, 12));
  // Three rows of four meet their own neighbours; two rows meet twice, which is once.
  EXPECT_EQ(make_topology("torus:rows=2", 8, Random(1))->graph(0)->degree(0), 3u);
  for (const char* spec : {"torus:rows=5", "torus:rows=1"})
    EXPECT_THROW((void)make_topology(spec, 96, Random(1)), std::invalid_argument);
  EXPECT_THROW((void)make_topology("torus", 97, Random(1)), std::invalid_argument);
}

// Everybody has one peer, and over 40 rounds a node of ten meets all nine others.
TEST(Matching, PairsAllAndChangesWhoMeets) {
  const auto topology = make_topology("matching", 10, Random(4));
  EXPECT_TRUE(topology->redrawn());
  std::vector<bool> met(10, false);
  for (Round round = 0; round < 40; ++round) {
    for (NodeId node = 0; node < 10; ++node) EXPECT_EQ(topology->graph(round)->degree(node), 1u);
    met[topology->peers(3, round).front()] = true;
  }
  EXPECT_EQ(std::count(met.begin(), met.end(), true), 9);
  std::size_t alone = 0;
  const auto odd = make_topology("matching", 9, Random(4));
  for (NodeId node = 0; node < 9; ++node) alone += odd->graph(0)->degree(node) == 0 ? 1 : 0;
  EXPECT_EQ(alone, 1u);
  EXPECT_THROW((void)make_topology("matching:redraw=no", 10, Random(1)), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
