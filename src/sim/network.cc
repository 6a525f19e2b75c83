#include "sim/network.h"

#include <algorithm>
#include <array>

#include "sim/network_kinds.h"

namespace tessera {
namespace {

constexpr std::array kNetworks = {
    NetworkKind{"ideal", "ideal", "every message arrives at the instant it is sent", make_ideal},
    NetworkKind{"fifo", "fifo:up=60Mbit/s,down=60Mbit/s,latency=1ms,stragglers=30,slowdown=5",
                "a node sends one message at a time; receivers are never crowded", make_fifo},
    NetworkKind{
        "links", "links:up=60Mbit/s,down=60Mbit/s,latency=1ms,parallel=8,stragglers=30,slowdown=5",
        "messages under way together share up-links and down-links max-min fairly", make_links},
    NetworkKind{"matrix", "matrix:file=experiments/regions10.csv,up=1Gbit/s,parallel=8",
                "a rate and a latency for every pair of places, from a table; nodes may have links",
                make_matrix},
};

}  // namespace

std::span<const NetworkKind> networks() {
  return kNetworks;
}

std::unique_ptr<Network> make_network(const Chosen<NetworkKind>& chosen,
                                      const NetworkContext& context) {
  Options options(chosen.spec);
  std::unique_ptr<Network> network = chosen.kind->make(options, context);
  options.done();
  return network;
}

std::unique_ptr<Network> make_network(std::string_view line, const NetworkContext& context) {
  return make_network(choose(networks(), "network", line), context);
}

}  // namespace tessera
