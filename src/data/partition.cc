#include "data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/table.h"
#include "data/partition_kinds.h"

namespace tessera {
namespace {

constexpr PartitionKind kPartitions[] = {
    {"iid", "iid", "shuffled and dealt evenly: every node sees every class", read_iid},
    {"shards", "shards:per_node=2",
     "per node a few windows of the label-sorted training set (JWINS, DivShare)", read_shards},
    {"dirichlet", "dirichlet:alpha=0.1,samples_min=1,group=0,even=no",
     "each class divided by random shares; a smaller alpha is more uneven", read_dirichlet},
    {"users", "users:test=all", "whole users or writers, shuffled, in equal numbers", read_users},
    {"consecutive", "consecutive:test=own",
     "whole users in the order of their ids (MovieLens); the first nodes hold one more",
     read_consecutive},
    {"file", "file:path=split.txt",
     "a line per training sample: the number of the node that holds it, or - for nobody",
     read_file_split},
    {"local", "local", "all that lies at a node is its own; see {node} in docs/data.md", read_local,
     true},
};

}  // namespace

std::span<const PartitionKind> partitions() {
  return kPartitions;
}

void require_classes(const LoadedData& data, std::string_view partition) {
  if (data.task.classes == 0)
    throw std::invalid_argument(fmt::format(
        "{}: {} has ratings, not classes; use consecutive, users or iid", partition, data.name));
}

Deal read_iid(Options&) {
  return [](const LoadedData& data, std::uint32_t nodes, const Random& random) {
    Indices order(data.train->size());
    std::iota(order.begin(), order.end(), 0u);
    Random(random).shuffle(std::span(order));
    Partition partition{.train = std::vector<Indices>(nodes)};
    for (std::size_t i = 0; i < order.size(); ++i) partition.train[i % nodes].push_back(order[i]);
    return partition;
  };
}

ReadPartition read_partition(std::string_view line) {
  Options options(parse_spec(line));
  const PartitionKind& kind = require_entry(partitions(), "partition", options.name());
  ReadPartition read{.kind = &kind, .deal = kind.read(options)};
  options.done();
  return read;
}

Partition partition_data(const LoadedData& data, std::string_view line, std::uint32_t nodes,
                         const Random& random) {
  return partition_data(data, read_partition(line), nodes, random);
}

Partition partition_data(const LoadedData& data, const ReadPartition& read, std::uint32_t nodes,
                         const Random& random) {
  CHECK(nodes > 0);
  const PartitionKind& kind = *read.kind;
  if (nodes > data.train->size() && !kind.own_data)
    throw std::invalid_argument(
        fmt::format("{}: {} nodes cannot share the {} training samples of {}; use fewer nodes or "
                    "more samples",
                    kind.name, nodes, data.train->size(), data.name));
  Partition partition = read.deal(data, nodes, random.fork("partition").fork(kind.name));
  CHECK(partition.train.size() == nodes);
  for (std::vector<Indices>* half : {&partition.train, &partition.test})
    for (Indices& own : *half) {
      CHECK((!own.empty() || kind.own_data));
      std::sort(own.begin(), own.end());
    }
  return partition;
}

}  // namespace tessera
