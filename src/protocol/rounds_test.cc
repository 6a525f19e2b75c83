#include "protocol/rounds.h"

#include <gtest/gtest.h>

#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

// Node 1 of a line 0 - 1 - 2, two parameters, full sharing.
using Middle = OneNode;

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
