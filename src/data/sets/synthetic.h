// A learnable task that needs no file. Each class has a few prototypes, smooth images made of
// random bumps; a sample is one of them, moved by up to a pixel or two, lighter or darker, under
// Gaussian noise. A linear model gets part of the way and a small convolutional one further, so
// there is something to see within seconds.
#pragma once

#include "base/result.h"
#include "base/spec.h"
#include "data/dataset.h"

namespace tessera {

Result<LoadedData> load_synthetic(Options& options);

}  // namespace tessera
