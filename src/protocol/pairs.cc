#include "protocol/pairs.h"

#include <array>
#include <span>
#include <utility>

#include "protocol/question.h"

namespace tessera {
namespace {

void move_halfway(Node& node, NodeId from, const Share& share) {
  const Contribution other{0.5f, &share, from};
  node.merge(std::span(&other, 1));
}

}  // namespace

void Pairs::on_start(Node& node) {
  if (!options_.ending.begin(node, done_)) return;
  // After a crash: an answer from before would meet another model, and so would a question.
  open_.reset();
  for (auto& [from, asker] : askers_) asker.waiting.reset();
  ask_and_train(node);
}

void Pairs::on_wake(Node& node) {
  if (options_.ending.reached(node, done_)) node.finish();
}

void Pairs::on_trained(Node& node) {
  ++done_;
  if (options_.ending.reached(node, done_)) return node.finish();
  answer_those_waiting(node);
  ask_and_train(node);
}

void Pairs::ask_and_train(Node& node) {
  if (open_ && node.now() - open_->asked >= options_.patience) {
    node.note("unanswered");
    open_.reset();
  }
  if ((*options_.sides)[node.id()] == Side::kFirst && !open_) ask(node);
  node.train();
}

void Pairs::ask(Node& node) {
  const std::span<const NodeId> peers = options_.graph->peers(node.id());
  if (peers.empty()) return;
  open_ = Question{.number = asked_++, .asked = node.now()};
  open_->to = peers[node.random().fork("pair", open_->number).below(peers.size())];
  Heading heading = node.heading(open_->number, static_cast<std::uint32_t>(peers.size()));
  heading.own = kAsks;
  node.send(heading, node.pack_whole(), std::span(&open_->to, 1));
}

void Pairs::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  if (from >= options_.graph->nodes() || !options_.graph->has_edge(node.id(), from))
    return node.refuse(from, "stranger");
  if (heading.own == kAsks) return hear_question(node, from, heading.round, std::move(share));
  if (!answers_open_question(from, heading.round)) return node.refuse(from, "late");
  open_.reset();
  move_halfway(node, from, *share);
}

// An answer that cannot be believed is an answer: the next question goes to another.
void Pairs::on_refused(Node&, NodeId from, const Heading& heading) {
  if (heading.own != kAsks && answers_open_question(from, heading.round)) open_.reset();
}

// A question that came twice would pull twice. One that is older than the last is taken: whoever
// starts from nothing numbers from zero again.
void Pairs::hear_question(Node& node, NodeId from, Round number, HeardShare question) {
  if ((*options_.sides)[node.id()] == Side::kFirst) return node.refuse(from, "unasked");
  Asker& asker = askers_[from];
  if (asker.answered == number || (asker.waiting && asker.waiting->number == number))
    return node.refuse(from, "duplicate");
  if (!asker.had_its_turn) return answer(node, from, number, *question);
  if (asker.waiting) node.refuse(from, "stale");  // The one before; it was given up.
  asker.waiting = Waiting{number, std::move(question)};
}

void Pairs::answer(Node& node, NodeId from, Round number, const Share& question) {
  Asker& asker = askers_[from];
  asker.answered = number;
  asker.had_its_turn = true;
  const Heading heading = node.heading(number, options_.graph->degree(node.id()));
  node.send(heading, node.pack_whole(), std::span(&from, 1));
  move_halfway(node, from, question);
}

void Pairs::answer_those_waiting(Node& node) {
  for (auto& [from, asker] : askers_) {
    asker.had_its_turn = false;
    if (const auto waiting = std::exchange(asker.waiting, std::nullopt))
      answer(node, from, waiting->number, *waiting->share);
  }
}

std::vector<const Share*> Pairs::kept() const {
  std::vector<const Share*> shares;
  for (const auto& [from, asker] : askers_)
    if (asker.waiting) shares.push_back(asker.waiting->share.get());
  return shares;
}

}  // namespace tessera
