// A protocol from outside the tree: after every training a node tells one random neighbour,
// averages with what came, and goes on. docs/add_a_protocol.md explains it.
#include <protocol/ending.h>
#include <protocol/pending.h>
#include <protocol/protocols.h>
#include <topology/graph.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace tessera;

struct GossipOptions {
  std::shared_ptr<const Graph> graph{};
  Ending ending{};
};

class Gossip final : public Protocol {
 public:
  explicit Gossip(GossipOptions options) : options_(std::move(options)) {}

  void on_start(Node& node) override {
    if (options_.ending.begin(node, done_)) node.train();
  }
  void on_trained(Node& node) override {
    const std::span<const NodeId> peers = options_.graph->peers(node.id());
    Random random = node.random().fork("gossip", node.age());
    const NodeId peer = peers[random.below(peers.size())];
    for (const Share& share : node.pack()) node.send(node.heading(done_, 1), share, {&peer, 1});
    node.merge(heard_.evenly_weighted());
    heard_.clear();
    ++done_;
    if (options_.ending.reached(node, done_)) return node.finish();
    node.train();
  }
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override {
    const std::uint32_t piece = node.piece_of(*share);
    if (!heard_.put({from, piece, heading.age}, std::move(share))) node.refuse(from, "late");
  }
  void on_wake(Node& node) override {
    if (options_.ending.reached(node, done_)) node.finish();
  }
  Round rounds_done() const override { return done_; }
  void fields(Archive& archive) override { archive(done_, heard_); }
  std::vector<const Share*> kept() const override { return heard_.shares(); }

 private:
  GossipOptions options_;
  Round done_ = 0;
  Pending heard_;  // The newest of each sender, in an order that does not depend on arrival.
};

PreparedProtocol prepare_gossip(Options& options, const ProtocolContext& context) {
  return make_asynchronous<Gossip>(
      GossipOptions{.graph = context.topology->graph(0), .ending = read_ending(options)});
}
