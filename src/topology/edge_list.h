// Graphs as text, in decentralizepy's format: the number of nodes on the first line, then one edge
// on each, as two nodes. An edge may stand in one direction or in both. Blank lines and what
// follows a '#' are passed over.
//
//   3
//   0 1
//   1 2    # The way back, 2 1, may be left out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"

namespace tessera {

// The graph need not be connected. Errors begin with the line's number: "line 3: ...".
Result<Graph> parse_edge_list(std::string_view text);
Result<Graph> read_edge_list(const std::filesystem::path& path);

// parse_edge_list's inverse, every edge in one direction.
std::string to_edge_list(const Graph& graph);

// "3 components: {0, 1, 2}, {3, 4} and {5}"; long ones are cut short.
std::string show_components(std::span<const std::vector<NodeId>> components);

}  // namespace tessera
