#include "protocol/rounds.h"

#include <gtest/gtest.h>

#include "node/node.h"
#include "protocol/protocols.h"

namespace tessera {
namespace {

// A world that writes down what a node does.
struct Notebook final : Env {
  Instant now() const override { return {}; }
  void send(NodeId to, Payload payload) override { sent.emplace_back(to, payload); }
  void drop_unsent() override {}
  void wake_after(Duration) override {}
  void train(const Vector& model, Random) override { training = model; }
  std::vector<std::pair<NodeId, Payload>> sent;
  Vector training;
};

// Node 1 of a line 0 - 1 - 2, two parameters, full sharing.
struct Middle {
  Notebook world;
  Node node = make(1);

  static Node make(NodeId id) {
    const std::shared_ptr<const Topology> topology = make_topology("line", 3, Random(1));
    const PreparedProtocol protocol =
        prepare_protocol("dpsgd:rounds=2", {.nodes = 3, .topology = topology});
    return Node({.id = id,
                 .run = 7,
                 .model = {0, 0},
                 .sharing = make_sharing("full", {.dimension = 2}),
                 .protocol = protocol.make(id),
                 .codec = parse_codec("raw32+f32")});
  }

  void hears(NodeId from, Round round, Vector values, std::uint64_t run = 7) {
    const Share share{.round = round,
                      .degree = 1,
                      .dimension = static_cast<std::uint32_t>(values.size()),
                      .coordinates = Everything{},
                      .values = values};
    Encoded encoded =
        encode(share, parse_codec("raw32+f32"), {.run = run, .sender = from}, Random(0));
    node.handle(Arrived{from, {std::make_shared<const Bytes>(encoded.bytes), encoded.value_bytes}},
                world);
  }
  std::uint64_t refused(const char* reason) const {
    const auto found = node.refusals().find(reason);
    return found == node.refusals().end() ? 0 : found->second;
  }
};

// Own model (3, 3) after training, degree 2; both neighbours have degree 1, so each weighs 1/3: the
// mean of the three.
TEST(Rounds, TrainsTellsWaitsAndAverages) {
  Middle middle;
  middle.node.handle(Started{}, middle.world);
  EXPECT_EQ(middle.world.training, (Vector{0, 0}));
  middle.node.handle(Trained{{3, 3}, 0.5f}, middle.world);
  ASSERT_EQ(middle.world.sent.size(), 2u);
  EXPECT_EQ(middle.world.sent[0].first, 0u);
  EXPECT_EQ(middle.world.sent[1].first, 2u);
  middle.hears(2, 0, {6, 0});
  EXPECT_EQ(middle.node.rounds_done(), 0u);
  middle.hears(0, 0, {0, 0});
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  EXPECT_EQ(middle.node.model(), (Vector{3, 1}));
  EXPECT_EQ(middle.world.training, (Vector{3, 1}));
}

TEST(Rounds, OrderOfArrivalDoesNotMatter) {
  Middle a, b;
  for (Middle* middle : {&a, &b}) {
    middle->node.handle(Started{}, middle->world);
    middle->node.handle(Trained{{0.1f, 0.7f}, 0}, middle->world);
  }
  a.hears(0, 0, {1e8f, 0.3f}), a.hears(2, 0, {-1e8f, 0.9f});
  b.hears(2, 0, {-1e8f, 0.9f}), b.hears(0, 0, {1e8f, 0.3f});
  EXPECT_EQ(a.node.model(), b.node.model());
}

TEST(Rounds, AnEarlyShareIsKept) {
  Middle middle;
  middle.node.handle(Started{}, middle.world);
  middle.hears(0, 1, {9, 9});
  middle.hears(0, 0, {0, 0});
  middle.hears(2, 0, {0, 0});
  middle.node.handle(Trained{{3, 3}, 0}, middle.world);
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  middle.hears(2, 1, {0, 0});
  middle.node.handle(Trained{{0, 0}, 0}, middle.world);
  EXPECT_EQ(middle.node.model(), (Vector{3, 3}));
  EXPECT_TRUE(middle.node.finished());
}

TEST(Rounds, TurnsAwayWhatIsNotForIt) {
  Middle middle;
  middle.node.handle(Started{}, middle.world);
  middle.hears(0, 0, {0, 0});
  middle.hears(0, 0, {5, 5});
  EXPECT_EQ(middle.refused("duplicate"), 1u);
  middle.hears(1, 0, {0, 0});
  EXPECT_EQ(middle.refused("stranger"), 1u);
  middle.hears(2, 5000, {0, 0});
  EXPECT_EQ(middle.refused("early"), 1u);
  middle.hears(2, 0, {0, 0}, 8);
  EXPECT_EQ(middle.refused("run"), 1u);
  middle.hears(2, 0, {0, 0, 0});
  EXPECT_EQ(middle.refused("dimension"), 1u);
  middle.node.handle(Arrived{2, {std::make_shared<const Bytes>(10), 0}}, middle.world);
  EXPECT_EQ(middle.refused("truncated"), 1u);
  middle.hears(2, 0, {0, 0});
  middle.node.handle(Trained{{0, 0}, 0}, middle.world);
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  middle.hears(2, 0, {0, 0});
  EXPECT_EQ(middle.refused("late"), 1u);
}

TEST(Epidemic, SourcesAreThoseWhoChoseUs) {
  const EpidemicMeetings meetings(10, 3, Random(4));
  for (const Round round : {0u, 1u, 9u, 0u}) {
    std::size_t heard = 0;
    for (NodeId node = 0; node < 10; ++node) {
      EXPECT_EQ(meetings.targets(node, round).size(), 3u);
      for (const NodeId target : meetings.targets(node, round)) {
        const auto sources = meetings.sources(target, round);
        EXPECT_TRUE(std::binary_search(sources.begin(), sources.end(), node));
      }
      heard += meetings.sources(node, round).size();
    }
    EXPECT_EQ(heard, 30u);
  }
  EXPECT_NE(meetings.targets(0, 0), meetings.targets(0, 1));
}

TEST(Protocols, RefuseWhatCannotBe) {
  const std::shared_ptr<const Topology> topology = make_topology("ring", 4, Random(1));
  for (const char* spec :
       {"dpsdg", "dpsgd:rounds=-1", "dpsgd:round=3", "epidemic:fanout=4", "epidemic:fanout=0"})
    EXPECT_THROW((void)prepare_protocol(spec, {.nodes = 4, .topology = topology}),
                 std::invalid_argument)
        << spec;
}

}  // namespace
}  // namespace tessera
