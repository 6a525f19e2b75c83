#include "protocol/rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "topology/mixing.h"

namespace tessera {
namespace {

// How far ahead of us a peer may be where meetings change and nobody goes on without us: far more
// than any honest one is (heard.h), and what it sends from there would only fill memory.
constexpr Round kRoundsAhead = 256;

float weight_of(Weights weights, std::size_t sources, std::uint32_t peer_degree) {
  if (weights == Weights::kUniform) peer_degree = 0;
  return static_cast<float>(mixing_weight(static_cast<std::uint32_t>(sources), peer_degree));
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
  const std::vector<NodeId> targets = meetings_->targets(node.id(), round_);
  node.send(node.heading(round_, static_cast<std::uint32_t>(targets.size())), node.pack_whole(),
            targets);
  told_ = true;
  told_at_ = node.now();
  // One step was not enough: nobody will tell of a round in between.
  if (left_behind(node)) return finish_round(node);
  wait_for_peers(node);
}

void Rounds::on_share(Node& node, NodeId from, const Heading& heading, Share share) {
  const Round round = heading.round;
  if (round < round_) return hear_late(node, from, round);
  if (too_early(from, round)) return node.refuse(from, "early");
  if (!expects(node, from, round)) return node.refuse(from, "stranger");
  if (!heard_.put(from, round, {heading.degree, std::move(share)}))
    return node.refuse(from, "duplicate");
  const Heard::Places places{.told = round, .ours = round_, .kept_max = kept_max()};
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

void Rounds::on_wake(Node& node) {
  if (patience_.endless() || !told_ || node.now() < deadline_) return;
  if (heard_.of(round_).empty() && round_of_most(node) > round_) {
    skip_to_the_others(node);
    return finish_round(node);
  }
  patience_.learn(node.now() - told_at_);
  for (const NodeId peer : sources(node))
    if (!heard_.has(peer, round_) && misses_.add(peer, round_, told_at_)) node.note("missed");
  finish_round(node);
}

const std::vector<NodeId>& Rounds::sources(const Node& node) {
  if (!sources_known_) {
    sources_ = meetings_->sources(node.id(), round_);
    sources_known_ = true;
  }
  return sources_;
}

bool Rounds::expects(const Node& node, NodeId from, Round round) {
  if (round != round_) return meetings_->meet(from, node.id(), round);
  return std::binary_search(sources(node).begin(), sources(node).end(), from);
}

std::size_t Rounds::kept_max() const {
  return meetings_->fixed() ? kRoundsKeptFixed : kRoundsKeptChanging;
}

// A node with patience may wake up any number of rounds behind: it takes whatever comes and keeps
// the newest. Without, it will need every share it has taken.
bool Rounds::too_early(NodeId from, Round round) const {
  if (round >= options_.rounds) return true;
  if (!patience_.endless()) return false;
  if (meetings_->fixed()) return round - round_ >= kept_max();
  return round - round_ > kRoundsAhead || heard_.rounds_of(from) >= kept_max();
}

// A share that came too late for its round shows how long we should have waited.
void Rounds::hear_late(Node& node, NodeId from, Round round) {
  if (const auto told = misses_.late(from, round, round_)) patience_.learn(node.now() - *told);
  node.refuse(from, "late");
}

bool Rounds::all_heard(Node& node) {
  const std::vector<NodeId>& peers = sources(node);
  if (heard_.of(round_).size() == peers.size()) return true;
  if (misses_.empty()) return false;
  return std::none_of(peers.begin(), peers.end(), [this](NodeId peer) {
    return !heard_.has(peer, round_) && misses_.waited_for(peer, round_);
  });
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
  for (const auto& [from, told] : heard_.of(round_)) {
    const std::optional<double> planned = meetings_->weight(from, node.id(), round_);
    others.push_back({planned ? static_cast<float>(*planned)
                              : weight_of(options_.weights, sources(node).size(), told.degree),
                      &told.share});
  }
  node.merge(others);
  begin_round(round_ + 1);
  if (round_ == options_.rounds) return node.finish();
  node.train();
}

void Rounds::begin_round(Round round) {
  round_ = round;
  heard_.forget_before(round_);
  told_ = false;
  sources_known_ = false;
}

// The round that more than half of our peers have reached, as they say. Where meetings change the
// voices are of whoever meets us, and two are the least that count.
Round Rounds::round_of_most(const Node& node) {
  std::size_t voices = sources(node).size();
  if (!meetings_->fixed()) voices = std::max<std::size_t>(voices, 2);
  return heard_.reached_by_most(voices).value_or(round_);
}

// On a fixed graph a neighbour that waits for us is a round ahead at most.
bool Rounds::left_behind(const Node& node) {
  if (patience_.endless() || !meetings_->fixed() || heard_.empty()) return false;
  return heard_.last() > round_ + 1 && round_of_most(node) > round_ + 1;
}

void Rounds::skip_to_the_others(Node& node) {
  const Round to = std::min(round_of_most(node), round_ + kStepMax);
  skipped_ += to - round_;
  begin_round(to);
  node.note("skipped");
}

std::string Rounds::waiting_for() const {
  if (!told_) return {};
  std::vector<NodeId> silent;
  for (const NodeId peer : sources_)
    if (!heard_.has(peer, round_)) silent.push_back(peer);
  return fmt::format("round {} from node{} {}", round_, silent.size() == 1 ? "" : "s",
                     fmt::join(silent, ", "));
}

void Rounds::fields(Archive& archive) {
  archive(round_, skipped_, told_, told_at_, deadline_, patience_, misses_, heard_);
  if (archive.loading()) sources_known_ = false;
  archive.require(round_ <= options_.rounds, "a saved round is beyond this run's last");
  archive.require(skipped_ <= round_, "a saved node skipped more rounds than there were");
  archive.require(is_plausible(told_at_), "a saved round was told at no moment");
  if (heard_.empty()) return;
  archive.require(heard_.first() >= round_ && heard_.last() < options_.rounds,
                  "a saved share is of no round to come");
}

}  // namespace tessera
