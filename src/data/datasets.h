// The table of datasets, and the one call that turns a line such as
//
//   cifar10:dir=data/cifar-10-batches-bin,limit=5000
//
// into samples. A mistake in the line throws std::invalid_argument; what is wrong with the files
// comes back as an Error that names the file and the place in it.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "base/spec.h"
#include "base/table.h"
#include "data/decoded.h"

namespace tessera {

struct DatasetKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  // Reads its options, calls options.done() and touches no file, so that a slip in a flag is
  // answered at once.
  DataSource (*source)(Options& options) = nullptr;
};

std::span<const DatasetKind> datasets();

// Every set also takes limit=N and test_limit=N: so many samples, spread evenly over each half.
Result<LoadedData> load_dataset(const Chosen<DatasetKind>& chosen);
Result<LoadedData> load_dataset(std::string_view line);

}  // namespace tessera
