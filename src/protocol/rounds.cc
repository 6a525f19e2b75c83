#include "protocol/rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "topology/mixing.h"

namespace tessera {
namespace {

// How far ahead of us a peer may be where meetings change and nobody goes on without us: far more
// than any honest one is (heard.h), and what it sends from there would only fill memory.
constexpr Round kRoundsAhead = 256;

// How many samples a peer says it has, one at least; nothing where it does not say.
std::optional<std::uint32_t> samples_told(const Heading& heading) {
  ByteReader reader(heading.own);
  const auto samples = reader.get<std::uint32_t>();
  if (reader.ran_short() || reader.left() > 0 || samples == 0) return std::nullopt;
  return samples;
}

std::uint32_t counted(const Node& node) {
  return std::max(node.samples(), 1u);
}

}  // namespace

void Rounds::on_start(Node& node) {
  if (round_ >= options_.rounds) return node.finish();
  if (!told_) return node.train();
  // Restarted while waiting. What was said meanwhile is lost; the wait begins anew.
  told_at_ = node.now();
  wait_for_peers(node);
}

void Rounds::on_trained(Node& node) {
  if (left_behind(node)) skip_to_the_others(node);
  for (const Share& share : node.pack()) {
    const std::vector<NodeId> targets =
        meetings_->targets(node.id(), meeting(round_, node.piece_of(share)));
    node.send(heading(node, targets.size()), share, targets);
  }
  told_ = true;
  told_at_ = node.now();
  // One step was not enough: nobody will tell of a round in between.
  if (left_behind(node)) return finish_round(node);
  wait_for_peers(node);
}

void Rounds::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  const Round round = heading.round;
  if (round < round_) return hear_late(node, from, round);
  if (round >= options_.rounds) return hear_of_no_round(node, from);
  if (too_early(from, round)) return node.refuse(from, "early");
  const std::uint32_t piece = node.piece_of(*share);
  if (!expects(node, from, round, piece)) return node.refuse(from, "stranger");
  Heard::Told told{heading.degree, std::move(share)};
  if (options_.weights == Weights::kSamples) {
    const std::optional<std::uint32_t> samples = samples_told(heading);
    if (!samples) {
      node.refuse(from, "samples");
      return on_refused(node, from, heading);
    }
    told.samples = *samples;
  }
  if (!heard_.put(from, meeting(round, piece), std::move(told)))
    return node.refuse(from, "duplicate");
  const Heard::Places places{
      .told = meeting(round), .ours = meeting(round_ + 1) - 1, .kept_max = meeting(kept_max())};
  for (std::size_t i = heard_.make_room(from, places); i > 0; --i) node.refuse(from, "stale");
  // On a fixed graph one that is two rounds ahead has gone on without us: it will not tell of ours.
  if (round <= round_ + 1 || !meetings_->fixed()) misses_.kept_up(from);
  if (!told_) return;
  if (left_behind(node)) {
    skip_to_the_others(node);
    return finish_round(node);
  }
  finish_round_if_all_heard(node);
}

void Rounds::on_refused(Node& node, NodeId from, const Heading& heading) {
  if (heading.round < round_ || heading.round - round_ > kRoundsAhead) return;
  refused_.put(from, heading.round);
  if (told_) finish_round_if_all_heard(node);
}

void Rounds::on_wake(Node& node) {
  if (patience_.endless() || !told_ || node.now() < deadline_) return;
  const bool all_silent = heard_.empty() || heard_.first() >= meeting(round_ + 1);
  if (all_silent && round_of_most(node) > round_) {
    skip_to_the_others(node);
    return finish_round(node);
  }
  patience_.learn(node.now() - told_at_);
  (void)sources(node);
  for (const NodeId peer : silent())
    if (misses_.add(peer, round_, told_at_)) node.note("missed");
  finish_round(node);
}

bool Rounds::take_pieces(const Pieces& pieces) {
  pieces_ = pieces.count;
  if (std::uint64_t{options_.rounds} * pieces_ > std::numeric_limits<Round>::max())
    throw std::invalid_argument(
        fmt::format("{} rounds of {} pieces are more meetings than can be counted: make fewer "
                    "rounds or larger pieces",
                    options_.rounds, pieces_));
  return pieces.count == 1 || (pieces.all_told && !meetings_->fixed());
}

const std::vector<std::vector<NodeId>>& Rounds::sources(const Node& node) {
  if (!sources_known_) {
    sources_.resize(pieces_);
    for (std::uint32_t piece = 0; piece < pieces_; ++piece)
      sources_[piece] = meetings_->sources(node.id(), meeting(round_, piece));
    sources_known_ = true;
  }
  return sources_;
}

std::vector<NodeId> Rounds::silent() const {
  std::vector<NodeId> silent;
  for (std::uint32_t piece = 0; piece < sources_.size(); ++piece)
    for (const NodeId peer : sources_[piece])
      if (!heard_.has(peer, meeting(round_, piece)) && !refused_.has(peer, round_))
        silent.push_back(peer);
  std::sort(silent.begin(), silent.end());
  silent.erase(std::unique(silent.begin(), silent.end()), silent.end());
  return silent;
}

Heading Rounds::heading(const Node& node, std::size_t targets) const {
  Heading heading = node.heading(round_, static_cast<std::uint32_t>(targets));
  if (options_.weights == Weights::kSamples) ByteWriter(heading.own).put(counted(node));
  return heading;
}

float Rounds::weight_of(const Node& node, std::size_t sources, const Heard::Told& told) const {
  const auto degree = static_cast<std::uint32_t>(sources);
  if (options_.weights == Weights::kSamples)
    return static_cast<float>(
        mixing_weight(MixingEnd{degree, counted(node)}, MixingEnd{told.degree, told.samples}));
  const bool even = options_.weights == Weights::kUniform;
  return static_cast<float>(mixing_weight(degree, even ? 0 : told.degree));
}

bool Rounds::expects(const Node& node, NodeId from, Round round, std::uint32_t piece) {
  if (round != round_) return meetings_->meet(from, node.id(), meeting(round, piece));
  const std::vector<NodeId>& peers = sources(node)[piece];
  return std::binary_search(peers.begin(), peers.end(), from);
}

Round Rounds::kept_max() const {
  return meetings_->fixed() ? kRoundsKeptFixed : kRoundsKeptChanging;
}

// A node with patience may wake up any number of rounds behind: it takes whatever comes and keeps
// the newest. Without, it will need every share it has taken.
bool Rounds::too_early(NodeId from, Round round) const {
  if (!patience_.endless()) return false;
  if (meetings_->fixed()) return round - round_ >= kept_max();
  return round - round_ > kRoundsAhead || heard_.rounds_of(from) >= meeting(kept_max());
}

// A share that came too late for its round shows how long we should have waited.
void Rounds::hear_late(Node& node, NodeId from, Round round) {
  if (const auto told = misses_.late(from, round, round_)) patience_.learn(node.now() - *told);
  node.refuse(from, "late");
}

// Nobody who gets that far sends it: what the peer says has no place in this run, and it is not
// waited for until it keeps up.
void Rounds::hear_of_no_round(Node& node, NodeId from) {
  node.refuse(from, "early");
  (void)misses_.add(from, round_, told_at_);
  if (told_) finish_round_if_all_heard(node);
}

bool Rounds::all_heard(Node& node) {
  const std::vector<std::vector<NodeId>>& peers = sources(node);
  bool all = true;
  for (std::uint32_t piece = 0; piece < pieces_; ++piece)
    all &= heard_.of(meeting(round_, piece)).size() == peers[piece].size();
  if (all || (misses_.empty() && refused_.empty())) return all;
  const std::vector<NodeId> missing = silent();
  return std::none_of(missing.begin(), missing.end(),
                      [this](NodeId peer) { return misses_.waited_for(peer, round_); });
}

bool Rounds::finish_round_if_all_heard(Node& node) {
  if (!all_heard(node)) return false;
  if (!patience_.endless()) patience_.learn(node.now() - told_at_);
  finish_round(node);
  return true;
}

void Rounds::wait_for_peers(Node& node) {
  if (finish_round_if_all_heard(node) || patience_.endless()) return;
  deadline_ = later(node.now(), patience_.limit());
  node.wake_after(patience_.limit());
}

// Averages with whoever told, and goes on.
void Rounds::finish_round(Node& node) {
  std::vector<Contribution> others;
  for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
    const Round now = meeting(round_, piece);
    for (const auto& [from, told] : heard_.of(now)) {
      const std::optional<double> planned = meetings_->weight(from, node.id(), now);
      const std::size_t peers = planned ? 0 : sources(node)[piece].size();
      others.push_back({planned ? static_cast<float>(*planned) : weight_of(node, peers, told),
                        told.share.get(), from});
    }
  }
  node.merge(others);
  begin_round(round_ + 1);
  if (round_ == options_.rounds) return node.finish();
  node.train();
}

void Rounds::begin_round(Round round) {
  round_ = round;
  heard_.forget_before(meeting(round_));
  refused_.forget_before(round_);
  told_ = false;
  sources_known_ = false;
}

// The round that more than half of our peers have reached, as they say. Where meetings change the
// voices are of whoever meets us, and two are the least that count.
Round Rounds::round_of_most(const Node& node) {
  std::set<NodeId> peers;
  for (const std::vector<NodeId>& of_piece : sources(node))
    peers.insert(of_piece.begin(), of_piece.end());
  const std::size_t voices =
      meetings_->fixed() ? peers.size() : std::max<std::size_t>(peers.size(), 2);
  const std::optional<Round> reached = heard_.reached_by_most(voices);
  return reached ? *reached / pieces_ : round_;
}

// On a fixed graph a neighbour that waits for us is a round ahead at most.
bool Rounds::left_behind(const Node& node) {
  if (patience_.endless() || !meetings_->fixed() || heard_.empty()) return false;
  return heard_.last() >= meeting(round_ + 2) && round_of_most(node) > round_ + 1;
}

void Rounds::skip_to_the_others(Node& node) {
  const Round to = std::min(round_of_most(node), round_ + kStepMax);
  if (told_ && meetings_->fixed()) miss_those_beyond(node, to);
  skipped_ += to - round_;
  begin_round(to);
  node.note("skipped");
}

// Who let us wait in vain and is further still than where we go will not tell of that round,
// either. Were it waited for there, those we join would go on without us, and we would skip again,
// time after time.
void Rounds::miss_those_beyond(const Node& node, Round to) {
  (void)sources(node);
  for (const NodeId peer : silent())
    if (heard_.has_after(peer, to + 1)) (void)misses_.add(peer, round_, told_at_);
}

std::string Rounds::waiting_for() const {
  if (!told_) return {};
  const std::vector<NodeId> missing = silent();
  return fmt::format("round {} from node{} {}", round_, missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "));
}

void Rounds::fields(Archive& archive) {
  archive(round_, skipped_, told_, told_at_, deadline_, patience_, misses_, refused_, heard_);
  if (options_.weights == Weights::kSamples) heard_.sample_fields(archive);
  if (archive.loading()) sources_known_ = false;
  archive.require(round_ <= options_.rounds, "a saved round is beyond this run's last");
  archive.require(skipped_ <= round_, "a saved node skipped more rounds than there were");
  archive.require(is_plausible(told_at_), "a saved round was told at no moment");
  if (heard_.empty()) return;
  archive.require(heard_.first() >= meeting(round_) && heard_.last() < meeting(options_.rounds),
                  "a saved share is of no round to come");
}

}  // namespace tessera
