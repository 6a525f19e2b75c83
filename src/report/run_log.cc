#include "report/run_log.h"

#include <algorithm>
#include <limits>

namespace tessera {

Measured::Measured(std::uint32_t all_nodes, std::span<const NodeId> hostile) : all(all_nodes) {
  for (NodeId id = 0; id < all; ++id)
    if (!std::binary_search(hostile.begin(), hostile.end(), id)) nodes.push_back(id);
}

bool Measured::counts(NodeId node) const {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

std::vector<NodeRow> Measured::no_rows() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return std::vector<NodeRow>(all, NodeRow{.score = {.accuracy = kNone, .loss = kNone}});
}

MetricsRow Measured::row(std::span<const NodeRow> by_node) const {
  std::vector<NodeRow> rows;
  for (const NodeId id : nodes) rows.push_back(by_node[id]);
  MetricsRow row = row_of(rows);
  row.hostile = static_cast<std::uint32_t>(by_node.size() - nodes.size());
  if (each_node)
    for (const NodeRow& node : by_node) row.nodes.push_back(node.score);
  return row;
}

void RunLog::Latest::fields(Archive& archive, const Measured& measured) {
  archive(nodes, row.network, row.merged, figures);
  archive.require(nodes.empty() || nodes.size() == measured.all,
                  "the last row is of another number of nodes");
  if (!archive.loading() || !archive.ok() || nodes.empty()) return;
  const MetricsRow read = row;
  row = measured.row(nodes);
  row.network = read.network;
  row.merged = read.merged;
}

}  // namespace tessera
