// A loss that is no number any more ends a run, simulated or live: what follows would be noise.
#pragma once

#include <string_view>

#include "base/ids.h"

namespace tessera {

// Throws std::runtime_error unless `loss` is finite. `which` loss it is: "training" or "test".
void refuse_divergence(NodeId node, Round round, double loss, std::string_view which);

}  // namespace tessera
