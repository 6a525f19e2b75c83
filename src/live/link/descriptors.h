// How many descriptors (connections, files) this process may have open at once.
#pragma once

#include <cstddef>

namespace tessera {

// Raises the limit as far as this process may, and returns it. Systems begin processes with 1,024
// for the sake of old programs, and a node takes five for each peer.
std::size_t raise_descriptor_limit();

}  // namespace tessera
