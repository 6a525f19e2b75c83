// A loss that is no number any more, or such a model, ends a run, simulated or live: what follows
// would be noise.
#pragma once

#include <stdexcept>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "node/node.h"

namespace tessera {

struct Divergence : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Says that training has just made the node's model diverge, after so many rounds.
[[noreturn]] void throw_divergence(NodeId node, Round done, Instant now);

// Throws Divergence when training has just made the node's model diverge.
void refuse_divergence(const Node& node, Instant now);

// Throws Divergence unless `loss` is finite. `which` loss it is: "training" or "test".
void refuse_divergence(NodeId node, Round round, double loss, std::string_view which);

}  // namespace tessera
