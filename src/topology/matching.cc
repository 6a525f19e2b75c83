// Random matchings: in every round nodes meet in pairs drawn at random, and where their number is
// odd, one is alone. Both ends of a pair take the mean of the two.
#include <numeric>

#include "topology/topology_kinds.h"

namespace tessera {

Scheme make_matching(Options& options, std::uint32_t nodes) {
  options.done();
  return [nodes](const Random& random) {
    std::vector<NodeId> order(nodes);
    std::iota(order.begin(), order.end(), NodeId{0});
    random.fork("pairs").shuffle(std::span(order));
    std::vector<Edge> pairs;
    for (std::size_t i = 1; i < order.size(); i += 2) pairs.push_back({order[i - 1], order[i]});
    return Graph(nodes, pairs);
  };
}

}  // namespace tessera
