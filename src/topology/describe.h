// A topology in one line, for `tessera inspect`:
//
//   96 nodes, 192 edges, 4 peers each, spectral gap 0.131 (second eigenvalue 0.8691)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace tessera {

struct GraphFigures {
  std::uint32_t nodes = 0;
  std::size_t edges = 0;
  std::uint32_t degree_min = 0;
  double degree_mean = 0;
  std::uint32_t degree_max = 0;
  double second_eigenvalue = 0;  // Of the Metropolis-Hastings weights; see mixing.h.
  double spectral_gap() const { return 1 - second_eigenvalue; }
};
GraphFigures figures_of(const Graph& graph);

// The figures of a redrawn topology are those of round 0, and the text says so. Of one with weights
// of its own it says what a cycle of rounds does:
//
//   96 nodes, 1 heard in a round at most, 0.875 in the mean; after a cycle of 8 rounds all have the
//   exact mean
std::string describe(const Topology& topology);

// For the page of a run: none where there are too many to see any, as among ten thousand nodes that
// all talk to each other.
std::vector<Edge> edges_to_draw(const Graph& graph);

}  // namespace tessera
