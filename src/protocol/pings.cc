#include "protocol/pings.h"

#include <utility>
#include <vector>

#include "protocol/question.h"

namespace tessera {

void Pings::on_start(Node& node) {
  if (options_.ending.begin(node, done_)) node.train();
}

void Pings::on_wake(Node& node) {
  if (options_.ending.reached(node, done_)) node.finish();
}

void Pings::on_trained(Node& node) {
  const Share share = node.pack_whole();
  Heading heading = node.heading(done_, options_.pings);
  pong_ = node.encode(heading, share);
  heading.own = kAsks;
  const Payload ping = node.encode(heading, share);
  Random random = node.random().fork("ping", node.age());
  for (std::uint32_t i = 0; i < options_.pings; ++i) {
    auto peer = static_cast<NodeId>(random.below(options_.nodes - 1));
    peer += peer >= node.id();
    node.send(ping, peer);
  }
  node.merge(pending_.evenly_weighted());
  pending_.clear();
  pongs_.clear();
  ++done_;
  if (options_.ending.reached(node, done_)) return node.finish();
  node.train();
}

void Pings::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  if (from >= options_.nodes) return node.refuse(from, "stranger");
  if (heading.own == kAsks && pong_.letter) {
    if (pongs_[from] == kPongsMax) return node.refuse(from, "too-often");
    ++pongs_[from];
    node.send(pong_, from);
  }
  if (!pending_.put({from, 0, heading.age}, std::move(share))) node.refuse(from, "late");
}

void Pings::fields(Archive& archive) {
  archive(done_, pong_, pongs_, pending_);
}

}  // namespace tessera
