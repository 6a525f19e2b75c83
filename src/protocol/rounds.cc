#include "protocol/rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "topology/mixing.h"

namespace tessera {
namespace {

// How far ahead of us a peer may be, and how many rounds to come we keep shares of. On a fixed
// graph it is one round, on a redrawn one a few; a peer beyond this is broken or hostile, and what
// it sends would only fill memory.
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
  if (left_behind()) {
    begin_round(round_of_most());
    node.note("skipped");
  }
  const std::vector<NodeId> targets = meetings_->targets(node.id(), round_);
  node.send(node.heading(round_, static_cast<std::uint32_t>(targets.size())), node.pack_whole(),
            targets);
  told_ = true;
  told_at_ = node.now();
  wait_for_peers(node);
}

void Rounds::on_share(Node& node, NodeId from, const Heading& heading, Share share) {
  const Round round = heading.round;
  welcome_back(node, from, round);
  if (round < round_) return node.refuse(from, "late");
  if (too_early(round)) return node.refuse(from, "early");
  const bool expected = round == round_
                            ? std::binary_search(sources(node).begin(), sources(node).end(), from)
                            : meetings_->meet(from, node.id(), round);
  if (!expected) return node.refuse(from, "stranger");
  Told told{heading.degree, std::move(share)};
  if (!heard_[round].emplace(from, std::move(told)).second) return node.refuse(from, "duplicate");
  if (!told_) return;
  if (left_behind()) return join_the_others(node);
  finish_round_if_all_heard(node);
}

void Rounds::on_wake(Node& node) {
  if (patience_.endless() || !told_ || node.now() < deadline_) return;
  const bool nobody_in_ours = heard_.find(round_) == heard_.end();
  if (nobody_in_ours && !heard_.empty()) return join_the_others(node);
  patience_.learn(node.now() - told_at_);
  for (const NodeId peer : sources(node)) {
    if (heard_[round_].count(peer) > 0) continue;
    if (missed_.emplace(peer, Miss{round_, told_at_}).second) node.note("missed");
  }
  finish_round(node);
}

const std::vector<NodeId>& Rounds::sources(const Node& node) {
  if (!sources_known_) {
    sources_ = meetings_->sources(node.id(), round_);
    sources_known_ = true;
  }
  return sources_;
}

// A node with patience may wake up any number of rounds behind, so it keeps whatever comes while
// there is room.
bool Rounds::too_early(Round round) const {
  if (round >= options_.rounds) return true;
  if (patience_.endless()) return round - round_ > kRoundsAhead;
  return heard_.size() >= kRoundsAhead && heard_.find(round) == heard_.end();
}

// Whoever speaks is waited for again. A share that came too late for its round shows how long we
// should have waited.
void Rounds::welcome_back(Node& node, NodeId from, Round round) {
  const auto found = missed_.find(from);
  if (found == missed_.end()) return;
  if (round == found->second.round) patience_.learn(node.now() - found->second.told);
  missed_.erase(found);
}

bool Rounds::all_heard(Node& node) {
  const auto heard = heard_.find(round_);
  const std::size_t count = heard == heard_.end() ? 0 : heard->second.size();
  if (count == sources(node).size()) return true;
  if (missed_.empty()) return false;
  return std::all_of(sources_.begin(), sources_.end(), [&](NodeId peer) {
    return missed_.count(peer) > 0 || (count > 0 && heard->second.count(peer) > 0);
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
  for (const auto& [from, told] : heard_[round_])
    others.push_back({weight_of(options_.weights, sources(node).size(), told.degree), &told.share});
  node.merge(others);
  begin_round(round_ + 1);
  if (round_ == options_.rounds) return node.finish();
  node.train();
}

void Rounds::begin_round(Round round) {
  round_ = round;
  heard_.erase(heard_.begin(), heard_.lower_bound(round_));
  told_ = false;
  sources_known_ = false;
}

// The latest round that at least half of those we heard from have reached.
Round Rounds::round_of_most() const {
  std::map<NodeId, Round> newest;
  for (const auto& [round, shares] : heard_)
    for (const auto& [from, told] : shares) newest[from] = round;
  if (newest.empty()) return round_;
  std::vector<Round> reached;
  for (const auto& [from, round] : newest) reached.push_back(round);
  const auto middle = reached.begin() + static_cast<std::ptrdiff_t>((reached.size() - 1) / 2);
  std::nth_element(reached.begin(), middle, reached.end());
  return *middle;
}

// On a fixed graph a neighbour that waits for us is a round ahead at most.
bool Rounds::left_behind() const {
  if (patience_.endless() || !meetings_->fixed() || heard_.empty()) return false;
  if (heard_.rbegin()->first <= round_ + 1) return false;
  return round_of_most() > round_ + 1;
}

void Rounds::join_the_others(Node& node) {
  begin_round(round_of_most());
  node.note("skipped");
  finish_round(node);
}

std::string Rounds::waiting_for() const {
  if (!told_) return {};
  std::vector<NodeId> silent;
  const auto heard = heard_.find(round_);
  for (const NodeId peer : sources_)
    if (heard == heard_.end() || heard->second.count(peer) == 0) silent.push_back(peer);
  return fmt::format("round {} from node{} {}", round_, silent.size() == 1 ? "" : "s",
                     fmt::join(silent, ", "));
}

void Rounds::fields(Archive& archive) {
  archive(round_, told_, told_at_, deadline_, patience_, missed_, heard_);
  if (archive.loading()) sources_known_ = false;
  archive.require(round_ <= options_.rounds, "a saved round is beyond this run's last");
  archive.require(is_plausible(told_at_), "a saved round was told at no moment");
  if (heard_.empty()) return;
  archive.require(heard_.begin()->first >= round_ && heard_.rbegin()->first < options_.rounds,
                  "a saved share is of no round to come");
}

std::vector<const Share*> Rounds::kept() const {
  std::vector<const Share*> shares;
  for (const auto& [round, senders] : heard_)
    for (const auto& [from, told] : senders) shares.push_back(&told.share);
  return shares;
}

}  // namespace tessera
