// How a node that begins without a checkpoint finds out whether it is far behind: it asks its
// helpers, waits for their answers, compares those that offer a model, and begins with the one that
// is nearest to the others. No model is believed by itself: each is an answer to a question of
// ours, has finite values of a size like our own, and is held against the others.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "live/link/transport.h"
#include "live/runtime_control.h"

namespace tessera {

class Joining {
 public:
  // `far_behind`: how many rounds a helper must be ahead for its model to be taken.
  Joining(Transport& transport, std::vector<NodeId> helpers, Round far_behind)
      : transport_(transport), helpers_(std::move(helpers)), far_behind_(far_behind) {}

  // Asks the helpers that are there, five at most.
  void ask();
  bool waits_for_answers() const { return !asked_.empty(); }

  enum class Verdict {
    kUnasked,    // Not asked for, too late, or an answer to another question.
    kNotAhead,   // The helper has begun no earlier.
    kNotFinite,  // A value of it is no finite number.
    kTooLarge,   // Its values are far larger than those of our own first model.
    kKept,       // Until choose().
  };
  Verdict judge(NodeId from, ModelOffer offer, std::span<const float> own);

  // What to begin with, once no more answers are waited for. Nothing: with what one has.
  struct Choice {
    NodeId from = 0;
    ModelOffer offer{};
    Round rounds_min = 0;  // The fewest rounds that any of those compared has completed.
    std::size_t compared = 0;
  };
  std::optional<Choice> choose(std::span<const float> own);

  // The answer to a newcomer's question, by a node that has completed `rounds` rounds. Nothing to
  // one that asks more than once a second.
  std::optional<ModelOffer> answer(NodeId from, const ModelRequest& request, Round rounds,
                                   const Vector& model);

  // What a node that begins hears first: what came before it was started and, where a protocol
  // waits for every share, what came since the checkpoint it goes back to. No peer would tell it
  // again. 64 MiB at most, or one message; then the oldest of the peer that has the most is
  // forgotten.
  void keep(Incoming incoming);
  std::deque<Incoming> take_kept();
  void forget_kept() { (void)take_kept(); }
  bool keeps_much() const;  // A checkpoint, after which it is forgotten, would be welcome.

  std::uint64_t adoptions() const { return adoptions_; }

 private:
  void forget_one_kept();

  Transport& transport_;
  std::vector<NodeId> helpers_;
  Round far_behind_;
  std::map<NodeId, std::uint64_t> asked_;  // Who is to answer, and with which nonce.
  std::map<NodeId, ModelOffer> offers_;
  std::map<NodeId, Instant> answered_;  // Whom we helped, and when.
  std::deque<Incoming> kept_;
  std::size_t kept_bytes_ = 0;
  std::map<NodeId, std::size_t> kept_bytes_of_;  // By sender.
  std::uint64_t adoptions_ = 0;
};

// One word for the counts of what was refused; empty for what is not a refusal.
std::string_view refusal_of(Joining::Verdict verdict);

}  // namespace tessera
