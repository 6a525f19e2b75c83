// How a node that begins without a checkpoint finds out whether it is far behind: it asks its
// helpers, and begins with the model of the first that is far ahead.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "live/link/transport.h"
#include "live/runtime_control.h"

namespace tessera {

class Joining {
 public:
  // `far_behind`: how many rounds a helper must be ahead for its model to be taken.
  Joining(Transport& transport, std::vector<NodeId> helpers, Round far_behind)
      : transport_(transport), helpers_(std::move(helpers)), far_behind_(far_behind) {}

  // Asks the helpers that are there.
  void ask();
  bool waits_for_answers() const { return !asked_.empty(); }
  void stop_asking() { asked_.clear(); }

  enum class Verdict {
    kUnasked,   // Not asked for, or too late.
    kNotAhead,  // The helper has begun no earlier.
    kTake,      // To be taken; the others' answers no longer matter.
  };
  Verdict judge(NodeId from, const ModelOffer& offer);

  // The answer to a newcomer's question, by a node that has completed `rounds` rounds.
  ModelOffer answer(const ModelRequest& request, Round rounds, const Vector& model) const;

  // What came before the node was started waits, the newest 64 MiB of it.
  void keep(Incoming incoming);
  std::deque<Incoming> take_kept();

  std::uint64_t adoptions() const { return adoptions_; }

 private:
  Transport& transport_;
  std::vector<NodeId> helpers_;
  Round far_behind_;
  std::set<NodeId> asked_;  // Who is to answer.
  std::deque<Incoming> too_early_;
  std::size_t too_early_bytes_ = 0;
  std::uint64_t adoptions_ = 0;
};

}  // namespace tessera
