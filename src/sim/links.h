// The network in which transfers share links: each node has an up-link and a down-link, messages
// under way at the same time share them max-min fairly (links_share.h), and a message arrives a
// latency after its last byte has left.
//
// Messages from one node to another travel one at a time and in order, as over one TCP connection;
// messages to different nodes travel at the same time, at most `parallel` of them per sender, the
// oldest first (docs/networks.md says what the bound does to a protocol).
//
//   Three nodes, 60 Mbit/s each way, latency 1 ms; at 0, nodes 0 and 1 each offer 36,000 bytes for
//   node 2. Its down-link is shared, so both have left after 9.6 ms and arrive at 10.6 ms.
#pragma once

#include <functional>
#include <memory>

#include "sim/links_share.h"
#include "sim/network_rates.h"

namespace tessera {

// What lies between two nodes besides their own links.
struct PathTraits {
  double rate = kUnlimited;
  Duration latency{};
};

struct LinksParts {
  NodeRates rates;
  std::function<PathTraits(NodeId from, NodeId to)> path{};
};

// Reads parallel=, tolerance= and half_sent= besides.
std::unique_ptr<Network> make_shared_links(Options& options, LinksParts parts);

}  // namespace tessera
