// How much weight a node gives each peer when it averages, and how fast such averaging spreads what
// one node knows to all.
//
// Metropolis and Hastings' weights need only the degrees of the two ends, and make the averaging
// keep the mean of all models: the matrix is symmetric and its rows sum to one.
//   w_ij = 1 / (max(deg_i, deg_j) + 1) for peers,  w_ii = 1 - sum_j w_ij
//
// Where nodes have samples, n_i of them, the same idea keeps the mean of all models weighted by
// them: n_i w_ij is symmetric (detailed balance), so sum_i n_i x_i stays as it is. A node that says
// it has ever so many gets no more than an even part of a peer's average.
//   w_ij = min(1 / (deg_i + 1), (n_j / n_i) / (deg_j + 1))
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace tessera {

double mixing_weight(std::uint32_t own_degree, std::uint32_t peer_degree);

struct MixingEnd {
  std::uint32_t degree = 0;
  std::uint32_t samples = 1;  // One at least.
};
double mixing_weight(const MixingEnd& own, const MixingEnd& peer);

struct MixingRow {
  double own = 1;
  std::vector<double> peers{};  // In the order of Graph::peers.
};
MixingRow mixing_row(const Graph& graph, NodeId node);

// The largest modulus among the eigenvalues of the weight matrix, apart from the 1 of the constant
// vector: a round of averaging brings models at least this factor closer to their mean. 0 where one
// round makes all equal, 1 where the graph is disconnected. One minus it is the spectral gap. The
// same graph always gives the same bits; the gap is right to about 1e-6 of itself.
double second_eigenvalue(const Graph& graph);

}  // namespace tessera
