// The sets that come as four IDX files: images and labels, training and test.
#pragma once

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

DataSource mnist_source(Options& options);
DataSource fashion_mnist_source(Options& options);
DataSource emnist_source(Options& options);
DataSource idx_source(Options& options);

}  // namespace tessera
