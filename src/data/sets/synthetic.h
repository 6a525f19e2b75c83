// A learnable task that needs no file. Each class has a few prototypes, smooth images made of
// random bumps; a sample is one of them, moved by up to a pixel or two, lighter or darker, under
// Gaussian noise. A linear model gets part of the way and a small convolutional one further, so
// there is something to see within seconds.
#pragma once

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

DataSource synthetic_source(Options& options);

}  // namespace tessera
