// Who holds which samples. A partition deals the training samples out to the nodes, so that no two
// nodes share one, and says which test samples are a node's own where that matters. The same seed
// gives the same partition everywhere: a live node works out its own part without asking anybody.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/table.h"
#include "data/dataset.h"

namespace tessera {

struct Partition {
  std::vector<Indices> train{};  // One entry per node, ascending, never empty.
  std::vector<Indices> test{};  // The same; empty when every node is tested on the whole test half.
};

struct PartitionKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  // Reads its options and calls options.done() first. Throws std::invalid_argument where data and
  // nodes do not fit it.
  Partition (*deal)(const LoadedData& data, std::uint32_t nodes, Options& options,
                    const Random& random) = nullptr;
};

std::span<const PartitionKind> partitions();

// partition_data(data, "shards:per_node=2", 96, Random(seed)). Whatever cannot be done throws
// std::invalid_argument with what to change.
Partition partition_data(const LoadedData& data, std::string_view line, std::uint32_t nodes,
                         const Random& random);
Partition partition_data(const LoadedData& data, const Chosen<PartitionKind>& chosen,
                         std::uint32_t nodes, const Random& random);

}  // namespace tessera
