// Base-(k+1) graphs (Takezawa et al., "Beyond exponential graph: communication-efficient topologies
// for decentralized learning via finite-time convergence", 2023): a sequence of rounds in which
// nodes have k peers at most, and after which every node has the exact mean of all, for any number
// of nodes and any k. There are at most 2 log_{k+1}(n) + 2 rounds.
//
// 1. If no prime factor of n is above k+1, nodes are the points of a grid with sides of k+1 and
//    less: a round for each side, in which the nodes of a line along it average.
// 2. Else n is written with base k+1: sets of sizes a (k+1)^p, the largest first. Each averages
//    within itself by (1). Then set after set meets all the smaller ones: every node of these has a
//    peer in each of the set's a parts, with weights such that it ends with the mean over the set
//    and all smaller ones, and each part has that mean too, though spread unevenly over its nodes.
//    Each part averages by (1) once more.
// 3. Where it is shorter, n = p q with no prime factor of p above k+1: p groups of q nodes do (2)
// at
//    the same time, then q groups of p nodes, one of each, do (1).
//
// Nodes that have nothing to do in a round are idle. The authors let those that agree already
// average again, which costs bytes and changes no exact mean.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/weighted_graph.h"

namespace tessera {

// The rounds' edges, in order; none for a single node.
using BaseRounds = std::vector<std::vector<WeightedEdge>>;
BaseRounds base_graph_rounds(std::uint32_t nodes, std::uint32_t peers_max);

}  // namespace tessera
