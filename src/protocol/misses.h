// Peers that missed a round, and when they are waited for again. A peer that keeps up, telling its
// share of our round or of a later one, is waited for as before. One that tells what it missed,
// only too late, lives and lags: if no peer ever waited for it, it might stay a fraction of a round
// behind for good, and all it learns be lost. So it is given another chance, at once the first
// time, and after 1, 2, 4, ... rounds each time it lets one pass. Old shares, repeated or not,
// change nothing.
#pragma once

#include <limits>
#include <map>
#include <optional>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"

namespace tessera {

inline constexpr Round kPauseMax = 1024;

class Misses {
 public:
  bool empty() const { return misses_.empty(); }
  bool waited_for(NodeId peer, Round round) const;
  // The peer did not tell of a round, which we had told at that moment. Whether it was waited for.
  bool add(NodeId peer, Round round, Instant told);
  // The peer tells in round `now` of one that is over. When we had told that one, if it is the one
  // it missed: so long we should have waited.
  std::optional<Instant> late(NodeId peer, Round round, Round now);
  void kept_up(NodeId peer) { misses_.erase(peer); }

  void fields(Archive& archive) { archive(misses_); }

 private:
  static constexpr Round kNotAgain = std::numeric_limits<Round>::max();
  struct Miss {
    Round round = 0;
    Instant told{};
    Round pause = 0;          // Rounds between its being late and its next chance.
    Round again = kNotAgain;  // When it is waited for again.
    void fields(Archive& archive) {
      archive(round, told, pause, again);
      archive.require(is_plausible(told), "a saved miss was at no moment");
      archive.require(pause <= kPauseMax, "a saved miss pauses too long");
    }
  };
  std::map<NodeId, Miss> misses_;
};

}  // namespace tessera
