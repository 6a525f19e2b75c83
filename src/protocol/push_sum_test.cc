// A protocol that needs a number more on its messages touches neither shares nor the wire. Push-sum
// (Kempe, Dobra and Gehrke, 2003) averages without anyone knowing who listens: a node keeps half of
// its weight and pushes the other half, with its estimate, to a random other. Estimates end at the
// mean of all first values although what a node hears in a step is anything but balanced.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <utility>

#include "protocol/protocols.h"
#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNodes = 6;

class PushSum final : public Protocol {
 public:
  void on_start(Node& node) override { node.train(); }

  void on_trained(Node& node) override {
    fold_in(node);
    weight_ /= 2;
    Heading heading = node.heading(pushed_, 1);
    ByteWriter(heading.own).put(weight_);
    auto peer = static_cast<NodeId>(node.random().fork("push", pushed_++).below(kNodes - 1));
    peer += peer >= node.id();
    node.send(heading, node.pack_whole(), std::span(&peer, 1));
    node.train();
  }

  void on_share(Node&, NodeId from, const Heading& heading, HeardShare share) override {
    heard_[from] = {ByteReader(heading.own).get<double>(), std::move(share)};
  }

  Round rounds_done() const override { return pushed_; }
  void fields(Archive& archive) override { archive(weight_, pushed_, heard_); }

 private:
  void fold_in(Node& node) {
    for (const auto& [from, pushed] : heard_) weight_ += pushed.first;
    std::vector<Contribution> others;
    for (const auto& [from, pushed] : heard_)
      others.push_back({static_cast<float>(pushed.first / weight_), pushed.second.get()});
    node.merge(others);
    heard_.clear();
  }

  double weight_ = 1;
  Round pushed_ = 0;
  std::map<NodeId, std::pair<double, HeardShare>> heard_;
};

TEST(PushSum, ItsWeightTravelsInTheHeading) {
  std::vector<Notebook> worlds(kNodes);
  std::vector<std::unique_ptr<Node>> nodes;
  for (NodeId id = 0; id < kNodes; ++id) {
    nodes.push_back(
        std::make_unique<Node>(NodeParts{.id = id,
                                         .model = {static_cast<float>(id * id), 1},
                                         .sharing = make_sharing("full", {.dimension = 2}),
                                         .protocol = std::make_unique<PushSum>(),
                                         .codec = parse_codec("gamma+planes"),
                                         .random = Random(3).fork("node", id)}));
    nodes.back()->handle(Started{}, worlds[id]);
  }
  for (int step = 0; step < 80; ++step) {
    for (NodeId id = 0; id < kNodes; ++id)
      nodes[id]->handle(Trained{nodes[id]->model(), 0}, worlds[id]);
    for (NodeId id = 0; id < kNodes; ++id)
      for (auto& [to, payload] : std::exchange(worlds[id].sent, {}))
        nodes[to]->handle(Arrived{id, payload}, worlds[to]);
  }
  for (const auto& node : nodes) {
    EXPECT_NEAR(node->model()[0], 55.0f / kNodes, 1e-3f);
    EXPECT_NEAR(node->model()[1], 1, 1e-5f);
    EXPECT_TRUE(node->refusals().empty());
  }
}

PreparedProtocol prepare_push_sum(Options&, const ProtocolContext&) {
  return {.make = [](NodeId) { return std::make_unique<PushSum>(); }};
}

TEST(Protocols, TakeRowsFromOutside) {
  EXPECT_THROW((void)prepare_protocol("push-sum", {}), std::invalid_argument);
  register_protocol({.name = "push-sum",
                     .usage = "push-sum",
                     .summary = "a protocol of one's own",
                     .prepare = prepare_push_sum});
  EXPECT_NE(prepare_protocol("push-sum", {.nodes = kNodes}).make(0), nullptr);
  EXPECT_EQ(protocols().back().name, "push-sum");
  EXPECT_THROW(register_protocol({.name = "dpsgd"}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
