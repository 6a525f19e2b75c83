// Peers without a graph: EL-Local and DivShare choose theirs anew from all nodes, each by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace tessera {

// `count` different nodes other than `self`, every choice equally likely, in random order. Throws
// std::invalid_argument where there are not so many.
std::vector<NodeId> sample_peers(std::uint32_t nodes, NodeId self, std::uint32_t count,
                                 Random& random);

}  // namespace tessera
