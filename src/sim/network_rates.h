// What each node's own links can carry: the same for all, but for stragglers. Straggling nodes are
// those with the lowest ids, as in DivShare's set-up, and both their directions are slow alike: a
// straggler's rate is drawn once, from N(rate / slowdown, noise), and kept above zero.
#pragma once

#include <vector>

#include "sim/network.h"

namespace tessera {

struct NodeRates {
  std::vector<double> up{}, down{};  // Bytes per second, by node.
};

// Reads up=, down=, stragglers=, slowdown= and noise=. Rates are 60 Mbit/s unless stated, down= as
// fast as up=.
NodeRates read_rates(Options& options, const NetworkContext& context);

// How fast each node is beside the others: 1, and about 1 / slowdown for stragglers. Reads
// stragglers=, slowdown= and noise=; also what compute models slow down by.
std::vector<double> read_speeds(Options& options, std::uint32_t nodes, const Random& random);

// A rate above zero; Options alone would take 0.
double read_rate(Options& options, std::string_view key, double fallback);

}  // namespace tessera
