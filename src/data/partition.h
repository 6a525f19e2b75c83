// Who holds which samples. A partition deals the training samples out to the nodes, so that no two
// nodes share one, and says which test samples are a node's own where that matters. The same seed
// gives the same partition everywhere: a live node works out its own part without asking anybody.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "data/dataset.h"

namespace tessera {

struct Partition {
  std::vector<Indices> train{};  // One entry per node, ascending; empty in `local` alone.
  std::vector<Indices> test{};  // The same; empty when every node is tested on the whole test half.
};

// How many training samples a node has; none where there is no data.
inline std::uint32_t samples_of(const Partition& partition, NodeId node) {
  return node < partition.train.size() ? static_cast<std::uint32_t>(partition.train[node].size())
                                       : 0;
}

// Throws std::invalid_argument where data and nodes do not fit it.
using Deal =
    std::function<Partition(const LoadedData& data, std::uint32_t nodes, const Random& random)>;

struct PartitionKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  Deal (*read)(Options& options) = nullptr;
  bool own_data = false;  // Each node has its own files (data/own_data.h), and may have none.
};

std::span<const PartitionKind> partitions();

// A line that has been read, before there is data.
struct ReadPartition {
  const PartitionKind* kind = nullptr;
  Deal deal{};
};
// Throws std::invalid_argument for an unknown name, option or value.
ReadPartition read_partition(std::string_view line);

// partition_data(data, "shards:per_node=2", 96, Random(seed)). Whatever cannot be done throws
// std::invalid_argument with what to change.
Partition partition_data(const LoadedData& data, std::string_view line, std::uint32_t nodes,
                         const Random& random);
Partition partition_data(const LoadedData& data, const ReadPartition& read, std::uint32_t nodes,
                         const Random& random);

}  // namespace tessera
