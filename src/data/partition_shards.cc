// The partition `shards`: windows of the label-sorted training set.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "data/partition_kinds.h"
#include "data/views.h"

namespace tessera {
namespace {

// Takes `count` places from `start` on out of `left`, going on at the front when the end is
// reached.
void cut_window(Indices& left, std::size_t start, std::size_t count, Indices& into) {
  const std::size_t tail = std::min(count, left.size() - start);
  const auto at = [&](std::size_t place) {
    return left.begin() + static_cast<std::ptrdiff_t>(place);
  };
  into.insert(into.end(), at(start), at(start + tail));
  into.insert(into.end(), left.begin(), at(count - tail));
  left.erase(at(start), at(start + tail));
  left.erase(left.begin(), at(count - tail));
}

// Label shards as the JWINS paper's code cuts them: the training set sorted by label and, per node,
// `per_node` windows of equal length at random places of what is left of it. A window may span two
// classes, or more where others have been cut out before; the few samples that remain when nodes
// and windows do not divide their number go unused.
Partition deal_shards(const LoadedData& data, std::uint32_t nodes, std::size_t per_node,
                      const Random& random) {
  require_classes(data, "shards");
  const std::vector<std::uint32_t> labels = labels_of(*data.train, data.task);
  Indices left(labels.size());
  std::iota(left.begin(), left.end(), 0u);
  std::stable_sort(left.begin(), left.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });
  const std::size_t window = left.size() / nodes / per_node;
  if (window == 0)
    throw std::invalid_argument(
        fmt::format("shards: per_node={}: the shards would be empty, as {} training samples give "
                    "each of {} nodes only {}; use fewer nodes or a smaller per_node",
                    per_node, left.size(), nodes, left.size() / nodes));
  Random draw = random;
  Partition partition{.train = std::vector<Indices>(nodes)};
  for (Indices& own : partition.train)
    for (std::size_t i = 0; i < per_node; ++i)
      cut_window(left, draw.below(left.size()), window, own);
  return partition;
}

}  // namespace

Deal read_shards(Options& options) {
  const auto per_node = static_cast<std::size_t>(options.integer("per_node", 2, between(1, 1e6)));
  return [per_node](const LoadedData& data, std::uint32_t nodes, const Random& random) {
    return deal_shards(data, nodes, per_node, random);
  };
}

}  // namespace tessera
