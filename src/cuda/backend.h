// What this folder adds to learn/: device=cuda on kernels of our own, for models whose layers they
// know.
#pragma once

#include "learn/learning.h"

namespace tessera {

const Backend& cuda_backend();

}  // namespace tessera
