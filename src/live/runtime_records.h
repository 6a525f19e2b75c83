// What a live node writes down of itself: when an evaluation or a checkpoint is due, which rows are
// still owed, and what observers have been told.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/archive.h"
#include "base/word_counts.h"
#include "live/back_off.h"
#include "live/link/peer_state.h"
#include "live/runtime_observer.h"

namespace tessera {

class RuntimeRecords {
 public:
  struct Schedule {
    // By rounds, or else by time; neither: only at the end.
    Round evaluate_every = 0;
    Duration evaluate_period{};
    Duration checkpoint_every{};
    Duration progress_every{};  // Zero: no lines of it.
  };
  RuntimeRecords(NodeId id, RuntimeObserver& observer, Schedule schedule)
      : id_(id), observer_(observer), schedule_(schedule) {}

  // A row that was begun and has no score yet. Its process may end before it has, so a checkpoint
  // holds it.
  struct Owed {
    Round round = 0;
    Instant at{};
    void fields(Archive& archive) { archive(round, at); }
  };

  void begin(Instant now, Round rounds_done);
  // A tick is due a few times a second. Link refusals come from the transport.
  bool tick_due(Instant now) const;
  void tick(Instant now, const WordCounts& of_links);

  // Tells observers of a round completed since the last call. The round to evaluate now, when one
  // is due. Throws Divergence when training has diverged.
  std::optional<Round> note_round(Instant at, const Node& node);
  // The moment to evaluate at, when one is due by time.
  std::optional<Instant> moment_due(Instant now);
  bool by_time() const { return schedule_.evaluate_period > Duration::zero(); }

  void owe(Owed row) { owed_.push_back(row); }
  std::deque<Owed> take_owed();
  // The oldest row owed has its score, or could not get one.
  void settle() { owed_.pop_front(); }
  // Throws Divergence when the model has diverged.
  void write(const RuntimeRow& row);

  // One that could not be written is due again after a pause that grows. `soon`: it is wanted four
  // times as often.
  bool checkpoint_due(Instant now, bool soon = false) const;
  // Whether it could be written.
  bool write_checkpoint(Instant now, Round rounds_done, const Bytes& state);
  std::uint64_t checkpoints() const { return checkpoints_; }  // Written by this process.

  void fields(Archive& archive) { archive(owed_); }

 private:
  void tell_of_notes(const Node& node);
  void tell_of_refusals(const Node& node);
  void tell_of_link_refusals(const WordCounts& refusals);

  NodeId id_;
  RuntimeObserver& observer_;
  Schedule schedule_;
  Instant ticked_at_{};
  Round seen_ = 0;                // Rounds done, as observers know it.
  WordCounts noted_;              // The node's notes, as observers know them.
  Node::CountsBySender doubted_;  // Its refusals that are not ordinary, likewise.
  WordCounts turned_away_;        // Of links, likewise.
  Instant progress_at_{};         // When a line of progress was last due.
  std::int64_t periods_ = 0;      // Of evaluation by time, begun so far.
  std::deque<Owed> owed_;
  Instant saved_at_{};  // Or tried to.
  BackOff pause_;
  std::uint64_t checkpoints_ = 0;
};

}  // namespace tessera
