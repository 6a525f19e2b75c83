#include "protocol/pairs.h"

#include <array>
#include <span>
#include <utility>

#include "protocol/question.h"

namespace tessera {
namespace {

void move_halfway(Node& node, const Share& share) {
  const Contribution other{0.5f, &share};
  node.merge(std::span(&other, 1));
}

}  // namespace

void Pairs::on_start(Node& node) {
  if (!options_.ending.begin(node, done_)) return;
  open_.reset();  // After a crash: an answer from before would meet another model.
  ask_and_train(node);
}

void Pairs::on_wake(Node& node) {
  if (options_.ending.reached(node, done_)) node.finish();
}

void Pairs::on_trained(Node& node) {
  ++done_;
  if (options_.ending.reached(node, done_)) return node.finish();
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

void Pairs::on_share(Node& node, NodeId from, const Heading& heading, Share share) {
  if (from >= options_.graph->nodes() || !options_.graph->has_edge(node.id(), from))
    return node.refuse(from, "stranger");
  if (heading.own == kAsks) return answer(node, from, heading.round, share);
  if (!open_ || open_->to != from || open_->number != heading.round) return node.refuse(from, "late");
  open_.reset();
  move_halfway(node, share);
}

void Pairs::answer(Node& node, NodeId from, Round number, const Share& question) {
  if ((*options_.sides)[node.id()] == Side::kFirst) return node.refuse(from, "unasked");
  // A question that came twice would pull twice. One that is older than the last is taken: whoever
  // starts from nothing numbers from zero again.
  const auto [last, first_time] = answered_.emplace(from, number);
  if (!first_time && last->second == number) return node.refuse(from, "duplicate");
  last->second = number;
  const Heading heading = node.heading(number, options_.graph->degree(node.id()));
  node.send(heading, node.pack_whole(), std::span(&from, 1));
  move_halfway(node, question);
}

}  // namespace tessera
