// The kinds of topologies, one function each, for the table in topology.cc. The random ones that
// stay give connected graphs only: what falls apart is drawn again, and options under which that
// would take for ever are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/spec.h"
#include "topology/topology.h"

namespace tessera {

Scheme make_regular(Options& options, std::uint32_t nodes);
Scheme make_small_world(Options& options, std::uint32_t nodes);
Scheme make_bipartite(Options& options, std::uint32_t nodes);
Scheme make_erdos_renyi(Options& options, std::uint32_t nodes);
Scheme make_torus(Options& options, std::uint32_t nodes);
Scheme make_hypercube(Options& options, std::uint32_t nodes);
Scheme make_exponential(Options& options, std::uint32_t nodes);
Scheme make_one_peer_exponential(Options& options, std::uint32_t nodes);
Scheme make_base_graph(Options& options, std::uint32_t nodes);
Scheme make_matching(Options& options, std::uint32_t nodes);
Scheme make_from_file(Options& options, std::uint32_t nodes);

// Reads degree=, a whole number of at least one.
std::uint32_t read_degree(Options& options, std::uint32_t fallback);

// Refuses what would fill the memory: every edge takes eight bytes, and several times that
// while it is drawn.
void require_few_edges(const Options& options, double edges);

// The first connected graph among those of random.fork("attempt", 0), 1, 2, ..., some of which may
// come to nothing. CHECKs that there is one among very many.
using Attempt = std::function<std::optional<Graph>(Random random)>;
Graph first_connected(const Random& random, const Attempt& attempt);

}  // namespace tessera
