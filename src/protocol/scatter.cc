#include "protocol/scatter.h"

#include <utility>
#include <vector>

#include "topology/peer_sampling.h"

namespace tessera {

void Scatter::on_start(Node& node) {
  if (!options_.ending.begin(node, done_)) return;
  // Restarted between sending and averaging: that instant is over.
  if (scattered_) return fold_in_and_train(node);
  node.train();
}

void Scatter::on_trained(Node& node) {
  scatter(node);
  if (options_.lag) return fold_in_and_train(node);
  scattered_ = true;
  node.wake_after(Duration::zero());
}

void Scatter::on_wake(Node& node) {
  if (options_.ending.reached(node, done_)) return node.finish();
  // A damaged checkpoint may say that it has scattered what is still being trained.
  if (scattered_ && !node.training()) fold_in_and_train(node);
}

void Scatter::scatter(Node& node) {
  if (options_.clear) node.drop_unsent();
  Random random = node.random().fork("scatter", node.age());
  const std::vector<Share> shares = node.pack();
  const Heading heading = node.heading(done_, options_.fanout);
  std::vector<Payload> payloads;
  payloads.reserve(shares.size());
  struct Addressed {
    NodeId to = 0;
    std::uint32_t payload = 0;  // Which of them.
  };
  std::vector<Addressed> letters;
  letters.reserve(shares.size() * options_.fanout);
  for (const Share& share : shares) {
    for (const NodeId peer : sample_peers(options_.nodes, node.id(), options_.fanout, random))
      letters.push_back({peer, static_cast<std::uint32_t>(payloads.size())});
    payloads.push_back(node.encode(heading, share));
  }
  // In random order, so that whatever a slow link leaves unsent is nobody's piece in particular.
  random.shuffle(std::span(letters));
  for (const Addressed& letter : letters) node.send(payloads[letter.payload], letter.to);
}

void Scatter::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  if (from >= options_.nodes) return node.refuse(from, "stranger");
  const std::uint32_t piece = node.piece_of(*share);
  if (!pending_.put({from, piece, heading.age}, std::move(share))) node.refuse(from, "late");
}

void Scatter::fold_in_and_train(Node& node) {
  node.merge(pending_.evenly_weighted());
  pending_.clear();
  scattered_ = false;
  ++done_;
  if (options_.ending.reached(node, done_)) return node.finish();
  node.train();
}

}  // namespace tessera
