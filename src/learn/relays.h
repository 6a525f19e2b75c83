// Nodes without samples of their own, which partition=local allows: one that has nothing to train
// on passes on what it hears, and one that has nothing to be tested on is not tested.
#pragma once

#include <optional>

#include "learn/learning.h"

namespace tessera {

// Wraps trainer and evaluator in ones that leave such nodes out, where there are any; of `only`
// nobody else counts.
void leave_out_relays(Learning& learning, std::optional<NodeId> only);

}  // namespace tessera
