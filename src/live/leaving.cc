#include "live/leaving.h"

#include <algorithm>

namespace tessera {

bool Leaving::begin_to_stop(Instant now, Round rounds_done) {
  if (!asked() || stopping()) return false;
  stopping_since_ = now;
  last_seen_ = rounds_done;
  return true;
}

// Nobody waits for one that it has no link to and needs none.
bool Leaving::is_done(const PeerState& peer) const {
  if (peer.condition == PeerCondition::kIdle && !peer.wanted) return true;
  return finished_peers_.contains(peer.id) || peer.condition == PeerCondition::kGone ||
         (!peer.alive() && census_.has_finished(peer.id));
}

bool Leaving::are_done(std::span<const PeerState> peers) const {
  return std::ranges::all_of(peers, [this](const PeerState& peer) { return is_done(peer); });
}

bool Leaving::may_leave(Instant now, Round rounds_done, bool training,
                        std::span<const PeerState> peers) const {
  if (leave_now_) return true;
  if (finished()) return asked() || are_done(peers) || now - *finished_since_ >= limits_.linger;
  if (!stopping()) return false;
  // Not in the middle of training: what it has learnt since the last checkpoint would be lost.
  return !training &&
         (past_last_round(rounds_done) || now - *stopping_since_ >= limits_.stop_within);
}

}  // namespace tessera
