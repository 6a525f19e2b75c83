// What peers told of the round under way and of rounds to come, for protocols of rounds. A round is
// a claim of its sender's, so memory is bounded for each: a peer that tells of ever later rounds
// fills its own places alone.
//
// How many rounds of one peer an honest run needs at a time, without patience, r being our round:
//  - On a fixed graph two, r and r+1: to tell r+2 the peer would need our share of r+1. One more
//    where we were restored to the round before the one we had told when we stopped.
//  - Where meetings change, our targets in r cannot end r without us, their targets in r+1 cannot
//    end r+1 without them, and so on: no node we reach in k such steps tells of r+k. Random
//    meetings reach every node in about log2(nodes) steps, so no peer is much further ahead, and it
//    meets us in a few of those rounds only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "codec/share.h"

namespace tessera {

inline constexpr std::size_t kRoundsKeptFixed = 4;      // Of each peer, on a fixed graph.
inline constexpr std::size_t kRoundsKeptChanging = 16;  // Where meetings change.

class Heard {
 public:
  // A peer's share of a round, to how many peers it told it, and where samples count how many it
  // says it has.
  struct Told {
    std::uint32_t degree = 0;
    HeardShare share{};
    std::uint32_t samples = 1;
    void fields(Archive& archive) { archive(degree, share); }
  };
  // By sender: sums run in the order of senders, not of arrival.
  using BySender = std::map<NodeId, Told>;

  // False where the peer has told of that round before.
  bool put(NodeId from, Round round, Told told);
  void forget_before(Round round) { rounds_.erase(rounds_.begin(), rounds_.lower_bound(round)); }
  // Makes room after a peer told of `told`, we being in round `ours`, and says how many of its
  // shares were forgotten: those of rounds it cannot be in, `kept_max` after the one it just told,
  // and then the oldest until `kept_max` are left. That of our own round stays: we have stopped
  // waiting for it.
  struct Places {
    Round told = 0, ours = 0;
    std::size_t kept_max = 0;
  };
  std::size_t make_room(NodeId from, const Places& places);

  bool empty() const { return rounds_.empty(); }
  bool has(NodeId from, Round round) const { return of(round).count(from) > 0; }
  const BySender& of(Round round) const;
  bool has_after(NodeId from, Round round) const;  // Told of a later one.
  std::size_t rounds_of(NodeId from) const;
  Round first() const { return rounds_.begin()->first; }  // Not where it is empty.
  Round last() const { return rounds_.rbegin()->first; }
  // The latest round that more than half of so many voices have reached, if there is any.
  std::optional<Round> reached_by_most(std::size_t voices) const;

  std::vector<const Share*> shares() const;
  void fields(Archive& archive) { archive(rounds_); }
  // After them, and only where samples count.
  void sample_fields(Archive& archive);

 private:
  // Of rounds from `first` on, oldest first, as many as `count_max`.
  std::size_t forget(NodeId from, Round first, std::size_t count_max);

  std::map<Round, BySender> rounds_;
};

}  // namespace tessera
