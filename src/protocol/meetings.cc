#include "protocol/meetings.h"

#include <algorithm>

namespace tessera {
namespace {

// Neighbours are at most a few rounds apart, so a handful of rounds is asked for at a time; but a
// round may have many meetings. Some 30 MB of them are kept at most.
constexpr std::size_t kRecentMin = 8, kRecentMax = 256;
constexpr std::size_t kRecentPeers = 4'000'000;

}  // namespace

std::vector<NodeId> GraphMeetings::targets(NodeId node, Round round) const {
  if (topology_->has_weights()) return topology_->weighted(round)->targets(node);
  return topology_->peers(node, round);
}

std::vector<NodeId> GraphMeetings::sources(NodeId node, Round round) const {
  if (topology_->has_weights()) return topology_->weighted(round)->sources(node);
  return topology_->peers(node, round);
}

bool GraphMeetings::meet(NodeId from, NodeId to, Round round) const {
  if (from >= topology_->nodes()) return false;
  if (topology_->has_weights()) return topology_->weighted(round)->weight(from, to) > 0;
  return topology_->graph(round)->has_edge(from, to);
}

std::optional<double> GraphMeetings::weight(NodeId from, NodeId to, Round round) const {
  if (!topology_->has_weights()) return std::nullopt;
  return topology_->weighted(round)->weight(from, to);
}

EpidemicMeetings::EpidemicMeetings(std::uint32_t nodes, std::uint32_t fanout, Random random)
    : nodes_(nodes), fanout_(fanout), random_(random) {}

std::vector<NodeId> EpidemicMeetings::targets(NodeId node, Round round) const {
  return drawn_for(round)->targets[node];
}

std::vector<NodeId> EpidemicMeetings::sources(NodeId node, Round round) const {
  return drawn_for(round)->sources[node];
}

// Not by way of drawn_for: a message that names a far round must not make us draw all of it and
// forget the rounds under way.
bool EpidemicMeetings::meet(NodeId from, NodeId to, Round round) const {
  if (from >= nodes_) return false;
  const std::vector<NodeId> chosen = draw(from, round);
  return std::find(chosen.begin(), chosen.end(), to) != chosen.end();
}

std::vector<NodeId> EpidemicMeetings::draw(NodeId node, Round round) const {
  Random own = random_.fork("round", round).fork("node", node);
  return sample_peers(nodes_, node, fanout_, own);
}

std::shared_ptr<const EpidemicMeetings::Drawn> EpidemicMeetings::drawn_for(Round round) const {
  const std::lock_guard lock(mutex_);
  for (auto drawn = recent_.rbegin(); drawn != recent_.rend(); ++drawn)
    if ((*drawn)->round == round) return *drawn;
  auto drawn = std::make_shared<Drawn>(Drawn{.round = round});
  drawn->targets.resize(nodes_);
  drawn->sources.resize(nodes_);
  for (NodeId node = 0; node < nodes_; ++node) {
    std::vector<NodeId> chosen = draw(node, round);
    std::sort(chosen.begin(), chosen.end());
    for (const NodeId target : chosen) drawn->sources[target].push_back(node);
    drawn->targets[node] = std::move(chosen);
  }
  const std::size_t recent_max =
      std::clamp(kRecentPeers / (std::size_t{nodes_} * fanout_), kRecentMin, kRecentMax);
  if (recent_.size() == recent_max) recent_.erase(recent_.begin());
  recent_.push_back(drawn);
  return drawn;
}

}  // namespace tessera
