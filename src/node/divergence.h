// A loss that is no number any more, or such a model, ends a run, simulated or live: what follows
// would be noise.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "node/node.h"

namespace tessera {

// Throws std::runtime_error when training has just made the node's model diverge.
void refuse_divergence(const Node& node, Instant now);

// Throws std::runtime_error unless `loss` is finite. `which` loss it is: "training" or "test".
void refuse_divergence(NodeId node, Round round, double loss, std::string_view which);

}  // namespace tessera
