#include "topology/mixing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "topology/shapes.h"
#include "topology/topology.h"

namespace tessera {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix dense(const Graph& graph) {
  Matrix w(graph.nodes(), std::vector<double>(graph.nodes(), 0.0));
  for (NodeId i = 0; i < graph.nodes(); ++i) {
    const MixingRow row = mixing_row(graph, i);
    w[i][i] = row.own;
    for (std::size_t k = 0; k < row.peers.size(); ++k) w[i][graph.peers(i)[k]] = row.peers[k];
  }
  return w;
}

// Turns rows and columns p and q so that a[p][q] becomes zero.
void rotate(Matrix& a, std::size_t p, std::size_t q) {
  if (a[p][q] == 0) return;
  const double angle = 0.5 * std::atan2(2 * a[p][q], a[q][q] - a[p][p]);
  const double c = std::cos(angle), s = std::sin(angle);
  for (auto& row : a) {
    const double x = row[p], y = row[q];
    row[p] = c * x - s * y, row[q] = s * x + c * y;
  }
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double x = a[p][k], y = a[q][k];
    a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
  }
}

// The plain way, all eigenvalues by Jacobi's rotations: the reference for the fast one.
double second_by_jacobi(const Graph& graph) {
  Matrix a = dense(graph);
  for (int sweep = 0; sweep < 12; ++sweep)
    for (std::size_t p = 0; p < a.size(); ++p)
      for (std::size_t q = p + 1; q < a.size(); ++q) rotate(a, p, q);
  std::vector<double> values;
  for (std::size_t i = 0; i < a.size(); ++i) values.push_back(a[i][i]);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(values.back(), 1, 1e-12);
  return std::max(std::abs(values.front()), std::abs(values[values.size() - 2]));
}

// A gap is what people read, so it is the gap that must be right, however small.
void expect_gap(const Graph& graph, double gap) {
  EXPECT_NEAR((1 - second_eigenvalue(graph)) / gap, 1, 1e-6) << graph.nodes() << " nodes";
}

// Line of three: degrees 1, 2, 1, so both edges weigh 1/3 and the ends keep 2/3.
TEST(Mixing, WeightsByHand) {
  EXPECT_DOUBLE_EQ(mixing_weight(1, 2), 1.0 / 3);
  EXPECT_DOUBLE_EQ(mixing_weight(4, 4), 0.2);
  const MixingRow end = mixing_row(line_graph(3), 0), middle = mixing_row(line_graph(3), 1);
  EXPECT_DOUBLE_EQ(end.own, 2.0 / 3);
  EXPECT_DOUBLE_EQ(middle.own, 1.0 / 3);
  EXPECT_EQ(middle.peers.size(), 2u);
  EXPECT_DOUBLE_EQ(mixing_row(line_graph(1), 0).own, 1);
}

TEST(Mixing, RowsSumToOneAndAreSymmetric) {
  for (const TopologyKind& kind : topologies()) {
    if (kind.name == "file") continue;
    const Matrix w = dense(*make_topology(kind.usage, 40, Random(2))->graph(0));
    for (std::size_t i = 0; i < w.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < w.size(); ++j) {
        sum += w[i][j];
        EXPECT_EQ(w[i][j], w[j][i]);
        EXPECT_GE(w[i][j], 0);
      }
      EXPECT_NEAR(sum, 1, 1e-14) << kind.name;
      EXPECT_GT(w[i][i], 0) << kind.name;
    }
  }
}

// W = I - L / 3 on both, where L has 2 - 2 cos(2 pi k / n) on a ring and 2 - 2 cos(pi k / n) on a
// line; k = 1 is the second from the top, and nothing at the bottom is below -1/3.
TEST(SecondEigenvalue, RingsAndLines) {
  for (const std::uint32_t nodes : {4u, 5u, 16u, 96u, 97u, 1'000u}) {
    expect_gap(ring_graph(nodes), (2 - 2 * std::cos(2 * std::numbers::pi / nodes)) / 3);
    expect_gap(line_graph(nodes), (2 - 2 * std::cos(std::numbers::pi / nodes)) / 3);
  }
}

TEST(SecondEigenvalue, FullGraphsAgreeAtOnce) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 20u, 200u})
    EXPECT_NEAR(second_eigenvalue(full_graph(nodes)), 0, 1e-12);
}

// All edges weigh 1/n; what is zero in the middle and sums to zero shrinks by 1 - 1/n.
TEST(SecondEigenvalue, Stars) {
  for (const std::uint32_t nodes : {3u, 10u, 96u, 1'000u})
    expect_gap(star_graph(nodes), 1.0 / nodes);
}

// Four against four: (I + A) / 5 with A's eigenvalues 4, 0 and -4, so the modulus is that of -3/5.
TEST(SecondEigenvalue, TheNegativeEndCounts) {
  const auto graph = make_topology("bipartite:degree=4", 8, Random(1))->graph(0);
  EXPECT_EQ(graph->edge_count(), 16u);
  EXPECT_NEAR(second_eigenvalue(*graph), 0.6, 1e-9);
}

// Petersen's graph: (I + A) / 4 with A's eigenvalues 3, 1 and -2.
TEST(SecondEigenvalue, Petersen) {
  std::vector<Edge> edges;
  for (NodeId i = 0; i < 5; ++i) {
    edges.push_back({i, (i + 1) % 5});
    edges.push_back({i, i + 5});
    edges.push_back({i + 5, (i + 2) % 5 + 5});
  }
  EXPECT_NEAR(second_eigenvalue(Graph(10, edges)), 0.5, 1e-9);
}

TEST(SecondEigenvalue, DisconnectedNeverAgrees) {
  EXPECT_NEAR(second_eigenvalue(Graph(4, std::vector<Edge>{{0, 1}, {2, 3}})), 1, 1e-12);
  EXPECT_NEAR(second_eigenvalue(Graph(3, {})), 1, 1e-12);
}

TEST(SecondEigenvalue, EqualsThePlainWay) {
  for (const TopologyKind& kind : topologies()) {
    if (kind.name == "file") continue;
    for (const std::uint32_t nodes : {16u, 33u, 48u})
      for (std::uint64_t seed = 0; seed < (TESSERA_SANITIZED ? 1 : 4); ++seed) {
        const auto graph = make_topology(kind.usage, nodes, Random(seed))->graph(0);
        EXPECT_NEAR(second_eigenvalue(*graph), second_by_jacobi(*graph), 1e-8)
            << kind.name << " " << nodes;
      }
  }
}

// Two groups of 30 that know each other well, joined by one edge: the slowest thing is the
// difference between the groups.
TEST(SecondEigenvalue, TwoGroupsAndABridge) {
  std::vector<Edge> edges = full_graph(30).edges();
  for (const Edge& edge : full_graph(30).edges()) edges.push_back({edge.a + 30, edge.b + 30});
  edges.push_back({29, 30});
  const Graph graph(60, edges);
  expect_gap(graph, 1 - second_by_jacobi(graph));
}

// Random regular graphs mix nearly as well as any of their degree: by Friedman's theorem the second
// eigenvalue of A is about 2 sqrt(d - 1), so for d = 4 that of (I + A) / 5 is about 0.893, and in
// graphs of 96 nodes a little less.
TEST(SecondEigenvalue, RandomRegularGraphsOf96Nodes) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double second =
        second_eigenvalue(*make_topology("regular:degree=4", 96, Random(seed))->graph(0));
    EXPECT_GT(second, 0.80);
    EXPECT_LT(second, 0.93);
    sum += second;
  }
  EXPECT_NEAR(sum / 200, 0.868, 0.01);
  const auto large = make_topology("regular:degree=4", 10'000, Random(1))->graph(0);
  EXPECT_NEAR(second_eigenvalue(*large), (1 + 2 * std::sqrt(3.0)) / 5, 0.005);
}

// pi_i = n_i / sum n: rows sum to one, n_i w_ij is symmetric, and applied often enough every row is
// pi.
TEST(Mixing, BySamplesTheWeightedMeanStays) {
  const std::vector<std::uint32_t> samples = {1, 10, 1000, 3, 1000, 200, 1};
  const auto nodes = static_cast<std::uint32_t>(samples.size());
  const Graph graph = *make_topology("erdos-renyi:degree=3", nodes, Random(4))->graph(0);
  Matrix w(nodes, std::vector<double>(nodes, 0.0));
  double all = 0;
  for (NodeId i = 0; i < nodes; ++i) {
    w[i][i] = 1;
    all += samples[i];
    for (const NodeId j : graph.peers(i)) {
      w[i][j] = mixing_weight(MixingEnd{graph.degree(i), samples[i]},
                              MixingEnd{graph.degree(j), samples[j]});
      EXPECT_GT(w[i][j], 0);
      w[i][i] -= w[i][j];
    }
    EXPECT_GT(w[i][i], 0);
  }
  for (NodeId i = 0; i < nodes; ++i)
    for (NodeId j = 0; j < nodes; ++j)
      EXPECT_NEAR(samples[i] * w[i][j], samples[j] * w[j][i], 1e-12 * all);
  Matrix power = w;
  for (int squaring = 0; squaring < 20; ++squaring) {
    Matrix squared(nodes, std::vector<double>(nodes, 0.0));
    for (NodeId i = 0; i < nodes; ++i)
      for (NodeId k = 0; k < nodes; ++k)
        for (NodeId j = 0; j < nodes; ++j) squared[i][j] += power[i][k] * power[k][j];
    power = squared;
  }
  for (NodeId i = 0; i < nodes; ++i)
    for (NodeId j = 0; j < nodes; ++j) EXPECT_NEAR(power[i][j], samples[j] / all, 1e-8);
}

TEST(Mixing, EqualSamplesChangeNothing) {
  for (const std::uint32_t own : {0u, 1u, 6u, 40u})
    for (const std::uint32_t peer : {0u, 1u, 6u, 41u})
      EXPECT_EQ(mixing_weight(MixingEnd{own, 77}, MixingEnd{peer, 77}), mixing_weight(own, peer));
}

}  // namespace
}  // namespace tessera
