// When a live node may end: asked to stop, it goes on to the end of its round; once finished, it
// stays for a while, so that those who are not can still hear from it and come back from a crash.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <span>

#include "base/ids.h"
#include "base/time.h"
#include "live/census.h"
#include "live/link/peer_state.h"

namespace tessera {

class Leaving {
 public:
  struct Limits {
    Duration stop_within{};  // Asked to stop, a node goes on no longer than this.
    Duration linger{};       // A node that has finished waits this long for its peers.
  };
  // What others say of who has finished is believed of those that are not there themselves.
  Leaving(Limits limits, const Census& census) : limits_(limits), census_(census) {}

  // From any thread, and from a signal's handler.
  void ask() { asked_.store(true); }
  bool asked() const { return asked_.load(); }

  // What is under way will not be done: there is nothing to wait for.
  void leave_now() { leave_now_ = true; }

  // Begins to stop when that was asked; true the first time.
  bool begin_to_stop(Instant now, Round rounds_done);
  bool stopping() const { return stopping_since_.has_value(); }
  // It was stopping, and has completed a round since.
  bool past_last_round(Round rounds_done) const { return stopping() && rounds_done > last_seen_; }

  void finish(Instant now) { finished_since_ = now; }
  // It has gone back, and has its last rounds before it again.
  void go_on() { finished_since_.reset(); }
  bool finished() const { return finished_since_.has_value(); }

  void peer_finished(NodeId peer) { finished_peers_.insert(peer); }
  // It may have been started anew, and not know that it had finished.
  void peer_came_back(NodeId peer) { finished_peers_.erase(peer); }

  bool may_leave(Instant now, Round rounds_done, bool training,
                 std::span<const PeerState> peers) const;

 private:
  bool are_done(std::span<const PeerState> peers) const;
  bool is_done(const PeerState& peer) const;

  Limits limits_;
  const Census& census_;
  std::atomic<bool> asked_{false};
  bool leave_now_ = false;
  std::optional<Instant> stopping_since_;
  Round last_seen_ = 0;  // Rounds done when it began to stop.
  std::optional<Instant> finished_since_;
  std::set<NodeId> finished_peers_;
};

}  // namespace tessera
