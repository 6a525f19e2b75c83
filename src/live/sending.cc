#include "live/sending.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace tessera {

void Sending::Message::fields(Archive& archive) {
  archive.shared(bytes);
  if (archive.loading() && bytes == nullptr) archive.refuse("a message that was told is missing");
}

void Sending::send(NodeId to, const Payload& payload) {
  if (!transport_.has_peer(to)) return;  // Not in the roster yet, or no longer.
  ++handed_over_.messages;
  handed_over_.bytes += payload.size();
  handed_over_.value_bytes += payload.value_bytes;
  if (options_.retold_max > 0) {
    std::deque<Message>& told = last_told_[to];
    told.push_back({payload.bytes()});
    if (told.size() > options_.retold_max) told.pop_front();
  }
  if (!holds_for(to) && transport_.send(to, payload.bytes())) return;
  if (takes_messages(to)) {
    held_.push_back({to, payload.bytes()});
    return;
  }
  // The peer does not read. When it comes back, the newest will do.
  transport_.drop_unsent(to);
  std::erase_if(held_, [&](const Held& held) { return held.to == to; });
  transport_.send(to, payload.bytes());
}

void Sending::drop_unsent() {
  held_.clear();
  transport_.drop_unsent();
}

bool Sending::holds_for(NodeId to) const {
  return std::any_of(held_.begin(), held_.end(), [&](const Held& held) { return held.to == to; });
}

// A peer may be there, and its process in such a state that it takes nothing any more.
bool Sending::takes_messages(NodeId to) {
  const PeerState peer = transport_.peer(to);
  // To one that is idle a link is being made.
  if (!peer.alive() && peer.condition != PeerCondition::kIdle) return false;
  const Instant now = transport_.now();
  const std::uint64_t confirmed = peer.out.confirmed_bytes;
  Stall& stall = stalls_.try_emplace(to, Stall{now, confirmed}).first->second;
  if (confirmed != stall.confirmed_bytes) stall = {now, confirmed};
  if (now - stall.since < options_.stalled_max) return true;
  if (!std::exchange(stall.said, true))
    say_(fmt::format("{} has taken nothing for {}: it will be told the newest only", peer.name,
                     show_duration(options_.stalled_max)));
  return false;
}

void Sending::retry_held() {
  std::set<NodeId> full;
  for (auto held = held_.begin(); held != held_.end();) {
    const NodeId to = held->to;
    if (!transport_.has_peer(to)) {
      held = held_.erase(held);
      continue;
    }
    if (!takes_messages(to)) transport_.drop_unsent(to);
    if (!full.contains(to) && transport_.send(to, held->bytes)) {
      held = held_.erase(held);
    } else {
      full.insert(to);
      ++held;
    }
  }
}

void Sending::look_at_links() {
  const bool first = !std::exchange(looked_, true);
  for (const PeerState& peer : transport_.active_peers()) {
    const std::uint64_t before = std::exchange(connections_[peer.id], peer.connections);
    if (!first && peer.connections > 1 && peer.connections > before) tell_again(peer.id);
  }
}

void Sending::tell_all_again() {
  for (const auto& [peer, told] : last_told_) tell_again(peer);
}

void Sending::tell_again(NodeId to) {
  const auto told = last_told_.find(to);
  if (told == last_told_.end() || !transport_.has_peer(to)) return;
  for (const Message& message : told->second) transport_.send(to, message.bytes);
}

// Adds what has gone out since the last call. Which part of that was values is not known; it is
// taken to be the part of all that was handed over.
const Traffic& Sending::gone_out() {
  std::uint64_t bytes = 0;
  for (const PeerState& peer : transport_.peers()) {
    Traffic& before = counted_[peer.id];
    if (peer.out.bytes_begun < before.bytes) before = {};  // Another link, to another member.
    gone_out_.messages += peer.out.messages_begun - before.messages;
    bytes += peer.out.bytes_begun - before.bytes;
    before = {.messages = peer.out.messages_begun, .bytes = peer.out.bytes_begun};
  }
  gone_out_.bytes += bytes;
  if (handed_over_.bytes > 0)
    gone_out_.value_bytes += static_cast<std::uint64_t>(
        static_cast<double>(bytes) * static_cast<double>(handed_over_.value_bytes) /
        static_cast<double>(handed_over_.bytes));
  return gone_out_;
}

}  // namespace tessera
