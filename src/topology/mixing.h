// How much weight a node gives each peer when it averages, and how fast such averaging spreads what
// one node knows to all.
//
// Metropolis and Hastings' weights need only the degrees of the two ends, and make the averaging
// keep the mean of all models: the matrix is symmetric and its rows sum to one.
//   w_ij = 1 / (max(deg_i, deg_j) + 1) for peers,  w_ii = 1 - sum_j w_ij
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace tessera {

double mixing_weight(std::uint32_t own_degree, std::uint32_t peer_degree);

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
