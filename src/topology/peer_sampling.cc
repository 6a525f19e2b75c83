#include "topology/peer_sampling.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/check.h"

namespace tessera {

std::vector<NodeId> sample_peers(std::uint32_t nodes, NodeId self, std::uint32_t count,
                                 Random& random) {
  CHECK(self < nodes);
  if (count >= nodes)
    throw std::invalid_argument(
        fmt::format("{} peers cannot be chosen among {} nodes without oneself; use {} at most, or "
                    "more nodes",
                    count, nodes, nodes - 1));
  std::vector<NodeId> peers = random.sample(nodes - 1, count);
  for (NodeId& peer : peers) peer += peer >= self;
  return peers;
}

}  // namespace tessera
