// Synchronous rounds, as D-PSGD has them (Lian et al., 2017): train, tell all peers, wait for all
// of theirs, average, repeat. Waits for neighbours only, so two nodes far apart in the graph may be
// several rounds apart in time. Epidemic Learning (de Vos et al., 2023) differs in whom a node
// meets and in the weights.
//
// With patience (a timeout) no node waits for ever. A peer that has not told by the deadline has
// missed the round: its weight is the node's own, and it is not waited for again until it keeps up
// (misses.h). One whose share was refused is not waited for in that round (refused.h). A node that
// finds that the others have gone on without it, because it was slow, cut off or restarted, skips
// rounds and joins them in theirs.
//
// Where meetings change and the sharing cuts models into pieces that it all tells, each piece has
// meetings of its own: Mosaic Learning (arXiv 2602.04352, 2026). A round then is as many meetings
// as there are pieces, one after the other in the plan, and waits for all of them.
//
// With weights=samples a message says how many samples its sender has (4 bytes of the heading's
// own), and counts by them; one that says nothing, or none, is refused. A node without samples
// counts as one that has a single one, so that what it passes on goes through it.
//
// What round the others are in is their word, and one of them may lie. So it takes more than half
// of all peers, silent ones counted, to move a node on, and it moves kStepMax rounds at a time,
// training in between: no node can be talked to the end of a run. What it skipped is counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/heard.h"
#include "protocol/meetings.h"
#include "protocol/misses.h"
#include "protocol/patience.h"
#include "protocol/refused.h"

namespace tessera {

inline constexpr Round kStepMax = 256;

enum class Weights {
  kMetropolisHastings,  // 1 / (max(own degree, sender's degree) + 1): doubly stochastic on any
                        // graph.
  kUniform,             // 1 / (own degree + 1), the degree being how many tell us this round.
  kSamples,  // Metropolis and Hastings' for nodes that count by their samples (mixing.h).
};

struct RoundsOptions {
  Round rounds = 0;
  Weights weights = Weights::kMetropolisHastings;
  PatienceOptions patience{};
};

class Rounds final : public Protocol {
 public:
  Rounds(std::shared_ptr<const Meetings> meetings, RoundsOptions options)
      : meetings_(std::move(meetings)), options_(options), patience_(options.patience) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_refused(Node& node, NodeId from, const Heading& heading) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return round_; }
  Round rounds_skipped() const override { return skipped_; }
  std::string waiting_for() const override;
  bool take_pieces(const Pieces& pieces) override;

  void fields(Archive& archive) override;
  std::vector<const Share*> kept() const override { return heard_.shares(); }

 private:
  // Meetings are counted through the run: those of a round, one for each piece, from this one on.
  Round meeting(Round round, std::uint32_t piece = 0) const { return round * pieces_ + piece; }
  // By piece.
  const std::vector<std::vector<NodeId>>& sources(const Node& node);
  // Of the sources asked for, those not wholly heard of whom nothing was refused.
  std::vector<NodeId> silent() const;
  Heading heading(const Node& node, std::size_t targets) const;
  bool expects(const Node& node, NodeId from, Round round, std::uint32_t piece);
  Round kept_max() const;  // Rounds of one peer.
  bool too_early(NodeId from, Round round) const;
  void hear_late(Node& node, NodeId from, Round round);
  void hear_of_no_round(Node& node, NodeId from);
  float weight_of(const Node& node, std::size_t sources, const Heard::Told& told) const;
  bool all_heard(Node& node);
  bool finish_round_if_all_heard(Node& node);
  void wait_for_peers(Node& node);
  void finish_round(Node& node);
  void begin_round(Round round);

  Round round_of_most(const Node& node);
  bool left_behind(const Node& node);
  void skip_to_the_others(Node& node);
  void miss_those_beyond(const Node& node, Round to);

  std::shared_ptr<const Meetings> meetings_;
  RoundsOptions options_;
  Round round_ = 0;    // The one under way; as many are done.
  bool told_ = false;  // Trained and sent this round.
  Round skipped_ = 0;  // Of those done, how many without training.
  std::uint32_t pieces_ = 1;
  Heard heard_;                               // By meeting.
  std::vector<std::vector<NodeId>> sources_;  // Who tells us this round; asked for when needed.
  bool sources_known_ = false;

  Patience patience_;
  Instant told_at_{}, deadline_{};
  Misses misses_;
  Refused refused_;
};

}  // namespace tessera
