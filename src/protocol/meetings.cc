#include "protocol/meetings.h"

#include <algorithm>

namespace tessera {
namespace {

// Neighbours are at most a few rounds apart, so a handful of rounds is asked for at a time.
constexpr std::size_t kRecent = 8;

}  // namespace

std::vector<NodeId> GraphMeetings::targets(NodeId node, Round round) const {
  const std::shared_ptr<const Graph> graph = topology_->graph(round);
  const std::span<const NodeId> peers = graph->peers(node);
  return {peers.begin(), peers.end()};
}

EpidemicMeetings::EpidemicMeetings(std::uint32_t nodes, std::uint32_t fanout, Random random)
    : nodes_(nodes), fanout_(fanout), random_(random) {}

std::vector<NodeId> EpidemicMeetings::targets(NodeId node, Round round) const {
  return drawn_for(round)->targets[node];
}

std::vector<NodeId> EpidemicMeetings::sources(NodeId node, Round round) const {
  return drawn_for(round)->sources[node];
}

std::shared_ptr<const EpidemicMeetings::Drawn> EpidemicMeetings::drawn_for(Round round) const {
  const std::lock_guard lock(mutex_);
  for (const auto& drawn : recent_)
    if (drawn->round == round) return drawn;
  auto drawn = std::make_shared<Drawn>(Drawn{.round = round});
  drawn->targets.resize(nodes_);
  drawn->sources.resize(nodes_);
  for (NodeId node = 0; node < nodes_; ++node) {
    Random own = random_.fork("round", round).fork("node", node);
    std::vector<NodeId> chosen = sample_peers(nodes_, node, fanout_, own);
    std::sort(chosen.begin(), chosen.end());
    for (const NodeId target : chosen) drawn->sources[target].push_back(node);
    drawn->targets[node] = std::move(chosen);
  }
  if (recent_.size() == kRecent) recent_.erase(recent_.begin());
  recent_.push_back(drawn);
  return drawn;
}

}  // namespace tessera
