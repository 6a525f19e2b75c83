// An edge list made by anybody is read or refused, and what was read survives being written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/edge_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Graph> graph = parse_edge_list(text);
  if (!graph) {
    CHECK(graph.error().message.starts_with("line "));
    return 0;
  }
  // Sizes that only cost time: a first line alone can ask for a million nodes.
  if (graph->nodes() > 10'000) return 0;
  std::size_t ends = 0;
  for (NodeId node = 0; node < graph->nodes(); ++node) {
    for (const NodeId peer : graph->peers(node)) CHECK(graph->has_edge(peer, node));
    ends += graph->degree(node);
  }
  CHECK(ends == 2 * graph->edge_count());
  CHECK(*parse_edge_list(to_edge_list(*graph)) == *graph);
  CHECK(is_connected(*graph) == (components(*graph).size() == 1));
  return 0;
}
