#include "live/link/links.h"

namespace tessera {

std::vector<NodeId> Links::set_members(std::span<const Member> members) {
  std::map<NodeId, const Member*> wanted;
  for (const Member& member : members)
    if (member.id != self_) wanted[member.id] = &member;
  std::vector<NodeId> to_hang_up;
  for (auto it = links_.begin(); it != links_.end();) {
    const auto found = wanted.find(it->first);
    // Another key or address under the same id is another link.
    if (found != wanted.end() && *found->second == it->second->member()) {
      ++it;
      continue;
    }
    if (it->second->connected()) to_hang_up.push_back(it->first);
    it = links_.erase(it);
  }
  for (const auto& [id, member] : wanted)
    if (!links_.contains(id))
      links_[id] = std::make_unique<Link>(*member, options_, session_, refusals_);
  return to_hang_up;
}

Link* Links::find(NodeId id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

const Link* Links::find(NodeId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

std::optional<Incoming> Links::take_next() {
  auto at = links_.upper_bound(last_served_);
  for (std::size_t i = 0; i < links_.size(); ++i, ++at) {
    if (at == links_.end()) at = links_.begin();
    if (std::optional<Bytes> message = at->second->take()) {
      last_served_ = at->first;
      return Incoming{at->first, std::move(*message)};
    }
  }
  return std::nullopt;
}

bool Links::tick(Link& link, Instant now) {
  link.tick(now);
  if (!link.take_change()) return false;
  changed_.insert(link.member().id);
  return true;
}

std::vector<PeerState> Links::take_changes() {
  std::vector<PeerState> states;
  for (NodeId id : changed_)
    if (const Link* link = find(id)) states.push_back(link->state());
  changed_.clear();
  return states;
}

std::vector<PeerState> Links::states() const {
  std::vector<PeerState> states;
  for (const auto& [id, link] : links_) states.push_back(link->state());
  return states;
}

bool Links::drained() const {
  for (const auto& [id, link] : links_)
    if (link->worth_waiting_for() && !link->drained()) return false;
  return true;
}

}  // namespace tessera
