#include "protocol/merging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {

// Merges are numbered by the rounds or the time they come after, so that one who missed some is not
// a merge behind for ever.
void Merging::on_start(Node& node) {
  if (under_way_) return wait(node);
  step_ = std::max(step_, node.merge_number() * length());
  forget_before_step();
  under_way_ = true;
  began_ = node.now();
  tell(node);
}

void Merging::tell(Node& node) {
  const auto graph = options_.topology->weighted(step_);
  const std::vector<NodeId> targets = graph->targets(self_);
  node.send(node.heading(step_, static_cast<std::uint32_t>(targets.size())), node.pack_whole(),
            targets);
  wait(node);
}

Instant Merging::deadline() const {
  return later(began_, options_.patience * (step_ % length() + 1));
}

void Merging::wait(Node& node) {
  if (missing().empty()) return finish_step(node);
  if (options_.patience > Duration::zero())
    node.wake_after(std::max(Duration::zero(), deadline() - node.now()));
}

std::vector<NodeId> Merging::missing() const {
  std::vector<NodeId> missing = options_.topology->weighted(step_)->sources(self_);
  std::erase_if(missing, [this](NodeId peer) {
    return heard_.has(peer, step_) || refused_.has(peer, step_);
  });
  return missing;
}

// Twice the length: others may have begun the next merge while we are late for this one.
void Merging::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  const Round step = heading.round;
  if (step < step_) return node.refuse(from, "late");
  if (step - step_ >= 2 * length()) return node.refuse(from, "early");
  if (from >= options_.topology->nodes() ||
      options_.topology->weighted(step)->weight(from, self_) <= 0)
    return node.refuse(from, "stranger");
  if (!heard_.put(from, step, {heading.degree, std::move(share)}))
    return node.refuse(from, "duplicate");
  if (under_way_ && step == step_ && missing().empty()) finish_step(node);
}

void Merging::on_refused(Node& node, NodeId from, const Heading& heading) {
  const Round step = heading.round;
  if (step < step_ || step - step_ >= 2 * length()) return;
  refused_.put(from, step);
  if (under_way_ && step == step_ && missing().empty()) finish_step(node);
}

void Merging::on_wake(Node& node) {
  if (!under_way_ || options_.patience == Duration::zero() || node.now() < deadline()) return;
  node.note("left out of a merge", missing().size());
  finish_step(node);
}

void Merging::forget_before_step() {
  heard_.forget_before(step_);
  refused_.forget_before(step_);
}

void Merging::finish_step(Node& node) {
  const auto graph = options_.topology->weighted(step_);
  std::vector<Contribution> others;
  for (const auto& [from, told] : heard_.of(step_))
    others.push_back({static_cast<float>(graph->weight(from, self_)), told.share.get(), from});
  node.merge(others);
  ++step_;
  forget_before_step();
  if (step_ % length() != 0) return tell(node);
  under_way_ = false;
  node.finish();
}

std::string Merging::waiting_for() const {
  if (!under_way_) return {};
  const std::vector<NodeId> silent = missing();
  return fmt::format("step {} of a merge from node{} {}", step_ % length(),
                     silent.size() == 1 ? "" : "s", fmt::join(silent, ", "));
}

void Merging::fields(Archive& archive) {
  archive(step_, under_way_, began_, refused_, heard_);
  archive.require(is_plausible(began_), "a saved merge began at no moment");
  if (heard_.empty()) return;
  archive.require(heard_.first() >= step_ && heard_.last() - step_ < 2 * length(),
                  "a saved share is of no merge to come");
}

}  // namespace tessera
