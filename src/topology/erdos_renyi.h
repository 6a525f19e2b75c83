// How likely a graph is to be connected when each pair of its nodes is joined with probability p.
// make_erdos_renyi asks before it draws, so that a hopeless p is refused and not tried for ever.
#pragma once

#include <cstdint>

namespace tessera {

// Exact up to 30 nodes, the limit of Erdős and Rényi (1959) above.
double chance_connected(std::uint32_t nodes, double p);

}  // namespace tessera
