// The partition `local`: a node has what lies where it is.
#include <fmt/format.h>

#include <stdexcept>

#include "data/partition_kinds.h"

namespace tessera {
namespace {

std::vector<Indices> by_node(std::span<const std::uint32_t> nodes_of, std::uint32_t nodes) {
  std::vector<Indices> own(nodes);
  for (std::uint32_t i = 0; i < nodes_of.size(); ++i) own.at(nodes_of[i]).push_back(i);
  return own;
}

}  // namespace

Deal read_local(Options&) {
  return [](const LoadedData& data, std::uint32_t nodes, const Random&) {
    if (data.train_nodes.size() != data.train->size())
      throw std::invalid_argument(
          fmt::format("local: {} does not lie at its nodes; use another partition", data.name));
    Partition partition{.train = by_node(data.train_nodes, nodes)};
    if (data.own_test) partition.test = by_node(data.test_nodes, nodes);
    return partition;
  };
}

}  // namespace tessera
