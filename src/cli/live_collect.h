// The records of a cluster's nodes, made into those of one run: the rows and the summary that a
// simulation of the same experiment would have written, with measured times.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "report/metrics.h"

namespace tessera {

struct Collected {
  std::vector<MetricsRow> rows{};
  Summary summary{};  // Without what only the experiment knows.
};

// The folders of nodes in there, by name; numbers count as numbers, so that n100 comes after n11.
std::vector<std::filesystem::path> node_folders(const std::filesystem::path& nodes);

// `folders` are the nodes' own, in the order of their ids. Throws std::runtime_error naming a node
// that left no final model, or a file that cannot be read.
Collected collect(std::span<const std::filesystem::path> folders, bool by_time);

}  // namespace tessera
