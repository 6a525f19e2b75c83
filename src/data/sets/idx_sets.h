// The sets that come as four IDX files: images and labels, training and test.
#pragma once

#include "base/result.h"
#include "base/spec.h"
#include "data/dataset.h"

namespace tessera {

Result<LoadedData> load_mnist(Options& options);
Result<LoadedData> load_fashion_mnist(Options& options);
Result<LoadedData> load_emnist(Options& options);
Result<LoadedData> load_idx(Options& options);

}  // namespace tessera
