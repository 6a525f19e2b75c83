#include "live/link/links.h"

#include <algorithm>
#include <utility>

namespace tessera {

std::vector<NodeId> Links::set_members(std::span<const Member> members) {
  std::map<NodeId, const Member*> wanted;
  bool dials_out = false;
  for (const Member& member : members) {
    if (member.id != self_) wanted[member.id] = &member;
    if (member.id == self_) dials_out = member.dials_out();
  }
  const bool as_before = std::exchange(dials_out_, dials_out) == dials_out;
  std::vector<NodeId> to_hang_up;
  for (auto it = links_.begin(); it != links_.end();) {
    const auto found = wanted.find(it->first);
    // Another key or address under the same id is another link.
    if (as_before && found != wanted.end() && *found->second == it->second->member()) {
      ++it;
      continue;
    }
    if (it->second->connected()) to_hang_up.push_back(it->first);
    awake_.erase(it->first);
    it = links_.erase(it);
  }
  for (const auto& [id, member] : wanted) {
    if (links_.contains(id)) continue;
    links_[id] = std::make_unique<Link>(*member, options_, next_session_++, refusals_, dials_out_);
    links_[id]->want(!wanted_ || wanted_->contains(id));
    wake(id);
  }
  return to_hang_up;
}

void Links::want(std::span<const NodeId> peers) {
  wanted_.emplace(peers.begin(), peers.end());
  for (const NodeId id : *wanted_) wake(id);
  // Those that were wanted are awake.
  for (const auto& [id, link] : awake_) link->want(wanted_->contains(id));
}

std::vector<Link*> Links::unused(Instant now) {
  std::vector<Link*> resting;
  for (const auto& [id, link] : awake_)
    if (link->may_rest()) resting.push_back(link);
  // Those used longest ago first.
  std::ranges::sort(resting, {}, &Link::used_at);
  const std::size_t surplus =
      resting.size() - std::min(resting.size(), options_.unwanted_links_max);
  std::size_t count = 0;
  while (count < resting.size() &&
         (count < surplus || now - resting[count]->used_at() >= options_.unused_max))
    ++count;
  resting.resize(count);
  return resting;
}

Link* Links::wake(NodeId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return nullptr;
  awake_[id] = found->second.get();
  return found->second.get();
}

void Links::doze() {
  std::erase_if(awake_, [](const auto& entry) { return entry.second->asleep(); });
}

const Link* Links::find(NodeId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

std::optional<Incoming> Links::take_next() {
  auto at = awake_.upper_bound(last_served_);
  for (std::size_t i = 0; i < awake_.size(); ++i, ++at) {
    if (at == awake_.end()) at = awake_.begin();
    if (std::optional<Bytes> message = at->second->take()) {
      last_served_ = at->first;
      return Incoming{at->first, std::move(*message)};
    }
  }
  return std::nullopt;
}

bool Links::has_next() const {
  return std::ranges::any_of(awake_, [](const auto& entry) { return entry.second->has_message(); });
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

std::vector<PeerState> Links::states_of_awake() const {
  std::vector<PeerState> states;
  for (const auto& [id, link] : awake_) states.push_back(link->state());
  return states;
}

void Links::say_goodbye() {
  for (const auto& [id, link] : links_) link->say_goodbye();
}

bool Links::drained() const {
  for (const auto& [id, link] : awake_)
    if (link->worth_waiting_for() && !link->drained()) return false;
  return true;
}

}  // namespace tessera
