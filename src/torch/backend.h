// What LibTorch adds to learn/: every list of layers under autograd and, for many nodes at once,
// stacked on a GPU; a user's own TorchScript module; models as TorchScript files.
#pragma once

#include "learn/learning.h"

namespace tessera {

const Backend& torch_backend();

}  // namespace tessera
