#include "topology/edge_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/files.h"
#include "base/text.h"

namespace tessera {
namespace {

// Far beyond what anybody simulates, and small enough that a wrong first line cannot fill the
// memory.
constexpr std::uint64_t kNodesMax = 1'000'000;

// Long enough to recognise what is wrong in, short enough for one line.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return fmt::format("'{}{}'", text.substr(0, kShown), text.size() > kShown ? "…" : "");
}

// The numbers of one line, or nothing where something in it is not a whole number from 0.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  while (!(line = trimmed(line)).empty()) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{}) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (!line.empty() && line.front() != ' ' && line.front() != '\t') return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

Error malformed(std::size_t line, std::string why) {
  return {"edge-list", fmt::format("line {}: {}", line, std::move(why))};
}

Result<std::uint32_t> parse_node_count(std::string_view line, std::size_t number) {
  const auto numbers = numbers_of(line);
  if (!numbers || numbers->size() != 1)
    return malformed(number, fmt::format("{} should be the number of nodes, alone on the first "
                                         "line; edges follow it",
                                         quoted(line)));
  const std::uint64_t nodes = numbers->front();
  if (nodes == 0 || nodes > kNodesMax)
    return malformed(number, fmt::format("{} nodes; there must be 1 to {}", nodes, kNodesMax));
  return static_cast<std::uint32_t>(nodes);
}

Result<Edge> parse_edge(std::string_view line, std::size_t number, std::uint32_t nodes) {
  const auto numbers = numbers_of(line);
  if (!numbers || numbers->size() != 2)
    return malformed(
        number, fmt::format("{} is not an edge; write two nodes, such as '0 1'", quoted(line)));
  for (const std::uint64_t node : *numbers)
    if (node >= nodes)
      return malformed(number, fmt::format("there is no node {}; the first line says {} nodes, so "
                                           "the last is {}",
                                           node, nodes, nodes - 1));
  if (numbers->front() == numbers->back())
    return malformed(number,
                     fmt::format("node {} is joined to itself; remove the line", numbers->front()));
  return Edge{static_cast<NodeId>(numbers->front()), static_cast<NodeId>(numbers->back())};
}

std::string show_nodes(std::span<const NodeId> nodes) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = nodes.size() > kShown + 1 ? kShown : nodes.size();
  const std::string list = fmt::format("{}", fmt::join(nodes.first(shown), ", "));
  if (shown == nodes.size()) return fmt::format("{{{}}}", list);
  return fmt::format("{{{}, … {} more}}", list, nodes.size() - shown);
}

}  // namespace

Result<Graph> parse_edge_list(std::string_view text) {
  std::optional<std::uint32_t> nodes;
  std::vector<Edge> edges;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (!nodes) {
      const Result<std::uint32_t> count = parse_node_count(line, number);
      if (!count) return count.error();
      nodes = *count;
    } else {
      const Result<Edge> edge = parse_edge(line, number, *nodes);
      if (!edge) return edge.error();
      edges.push_back(*edge);
    }
  }
  if (!nodes) return malformed(1, "the file is empty; the first line is the number of nodes");
  return Graph(*nodes, edges);
}

Result<Graph> read_edge_list(const std::filesystem::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  Result<Graph> graph = parse_edge_list(*text);
  if (graph) return graph;
  return Error{graph.error().kind, fmt::format("{}: {}", path.string(), graph.error().message)};
}

std::string to_edge_list(const Graph& graph) {
  std::string text = fmt::format("{}\n", graph.nodes());
  for (const Edge& edge : graph.edges()) text += fmt::format("{} {}\n", edge.a, edge.b);
  return text;
}

std::string show_components(std::span<const std::vector<NodeId>> components) {
  constexpr std::size_t kShown = 5;
  const std::size_t shown = components.size() > kShown + 1 ? kShown : components.size();
  std::string text =
      fmt::format("{} component{}: ", components.size(), components.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == components.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", show_nodes(components[i]));
  }
  if (shown < components.size()) text += fmt::format(" and {} more", components.size() - shown);
  return text;
}

}  // namespace tessera
