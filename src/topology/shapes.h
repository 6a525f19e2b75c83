// Graphs of a fixed shape, the same for every seed. Each makes sense from one node up: one node has
// no peers, two nodes have each other.
#pragma once

#include <cstdint>
#include <span>

#include "topology/graph.h"

namespace tessera {

Graph line_graph(std::uint32_t nodes);
Graph ring_graph(std::uint32_t nodes);
Graph star_graph(std::uint32_t nodes);  // Node 0 is the middle.
Graph full_graph(std::uint32_t nodes);

// A ring through all nodes in the order given.
Graph ring_through(std::span<const NodeId> order);

// The same shape with node i standing where node places[i] stood.
Graph with_places(const Graph& graph, std::span<const NodeId> places);

}  // namespace tessera
