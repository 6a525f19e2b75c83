// The records of a cluster's nodes, made into those of one run: the rows and the summary that a
// simulation of the same experiment would have written, with measured times.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/metrics.h"
#include "run/plan.h"

namespace tessera {

// The folders of nodes in there, by name; numbers count as numbers, so that n100 comes after n11.
std::vector<std::filesystem::path> node_folders(const std::filesystem::path& nodes);

struct CollectOptions {
  std::filesystem::path out{};  // Where config.toml, metrics.jsonl and summary.json go.
  double seconds = 0;           // Wall time of the whole run, where it is known.
  std::string command{};
  Made made{};
};

// `folders` are the nodes' own, in the order of their ids. Takes what there is: the summary's
// shortfall names nodes that were stopped or lost before their end, and those that left no row
// count for nothing. Throws std::runtime_error where none left one, or naming a file that cannot
// be read.
Summary collect(const Plan& plan, std::span<const std::filesystem::path> folders,
                const CollectOptions& options);

}  // namespace tessera
