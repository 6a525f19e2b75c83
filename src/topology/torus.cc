// A torus: a rectangle, as nearly square as the number of nodes allows, whose opposite sides meet.
#include <fmt/format.h>

#include "topology/topology_kinds.h"

namespace tessera {
namespace {

Graph torus_graph(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Edge> edges;
  for (NodeId row = 0; row < rows; ++row)
    for (NodeId column = 0; column < columns; ++column) {
      const NodeId node = row * columns + column;
      if (columns > 1) edges.push_back({node, row * columns + (column + 1) % columns});
      if (rows > 1) edges.push_back({node, (row + 1) % rows * columns + column});
    }
  return Graph(rows * columns, edges);
}

std::uint32_t squarest(std::uint32_t nodes) {
  std::uint32_t rows = 1;
  for (std::uint64_t side = 2; side * side <= nodes; ++side)
    if (nodes % side == 0) rows = static_cast<std::uint32_t>(side);
  return rows;
}

}  // namespace

Scheme make_torus(Options& options, std::uint32_t nodes) {
  const auto rows =
      static_cast<std::uint32_t>(options.integer("rows", squarest(nodes), between(1, 1e9)));
  options.done();
  if (nodes % rows != 0)
    options.refuse("rows", fmt::format("{} nodes do not fit into {} rows; leave it out, or use a "
                                       "number that divides them",
                                       nodes, rows));
  if (nodes > 3 && (rows == 1 || rows == nodes))
    options.refuse("rows", fmt::format("{} nodes in one row are a ring; use topology=ring, or a "
                                       "number of nodes that makes a rectangle",
                                       nodes));
  return [=](const Random&) { return torus_graph(rows, nodes / rows); };
}

}  // namespace tessera
