#include "protocol/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

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
  a.hears(0, 0, {1e3f, 0.3f}), a.hears(2, 0, {-1e3f, 0.9f});
  b.hears(2, 0, {-1e3f, 0.9f}), b.hears(0, 0, {1e3f, 0.3f});
  EXPECT_EQ(a.node.rounds_done(), 1u);
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
  middle.hears_of_run(8, 2, {.degree = 1}, Share{.dimension = 2, .values = {0, 0}});
  EXPECT_EQ(middle.refused("run"), 1u);
  middle.hears(2, 0, {0, 0, 0});
  EXPECT_EQ(middle.refused("dimension"), 1u);
  middle.node.handle(Arrived{2, {std::make_shared<const Letter>(Bytes(10)), 0}}, middle.world);
  EXPECT_EQ(middle.refused("truncated"), 1u);
  middle.hears(2, 0, {0, 0});
  middle.node.handle(Trained{{0, 0}, 0}, middle.world);
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  middle.hears(2, 0, {0, 0});
  EXPECT_EQ(middle.refused("late"), 1u);
}

TEST(Rounds, SaysWhomItWaitsFor) {
  Middle middle;
  middle.starts();
  EXPECT_EQ(middle.node.waiting_for(), "");
  middle.trains_to({0, 0});
  EXPECT_EQ(middle.node.waiting_for(), "round 0 from nodes 0, 2");
  middle.hears(0, 0, {0, 0});
  EXPECT_EQ(middle.node.waiting_for(), "round 0 from node 2");
}

// Steady waits of a second with a deviation that dies away: the limit comes down to the floor's
// reach; a single long wait raises it at once.
TEST(Patience, LearnsFromWaits) {
  Patience patience({.wait_min = 500ms, .wait_max = 10s});
  EXPECT_FALSE(patience.endless());
  EXPECT_EQ(patience.limit(), 10s);
  patience.learn(1s);
  EXPECT_EQ(patience.limit(), 3s);  // One second and four times a half.
  for (int i = 0; i < 100; ++i) patience.learn(1s);
  EXPECT_NEAR(to_seconds(patience.limit()), 1, 0.01);
  patience.learn(3s);  // Deviation 0.5, mean 1.25.
  EXPECT_NEAR(to_seconds(patience.limit()), 3.25, 0.01);
  for (int i = 0; i < 200; ++i) patience.learn(Duration::zero());
  EXPECT_EQ(patience.limit(), 500ms);
  for (int i = 0; i < 50; ++i) patience.learn(1h);  // Counted as no more than one may last.
  EXPECT_EQ(patience.limit(), 10s);
  EXPECT_TRUE(Patience().endless());
}

Middle patient() {
  return Middle({.protocol = "dpsgd:rounds=100,patience=8s,patience_min=2s"});
}

// Own (3, 3) and node 0's (0, 0): a third each, and the silent node 2's third is our own.
TEST(Rounds, WithPatienceGoesOnWithoutAPeerUntilItSpeaksAgain) {
  Middle middle = patient();
  middle.starts();
  middle.trains_to({3, 3});
  middle.hears(0, 0, {0, 0});
  middle.waits_until(7s);
  EXPECT_EQ(middle.node.rounds_done(), 0u);
  middle.waits_until(8s);
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  EXPECT_EQ(middle.node.model(), (Vector{2, 2}));
  EXPECT_EQ(middle.noted("missed"), 1u);

  middle.trains_to({3, 3});
  middle.hears(0, 1, {0, 0});  // All there is to wait for.
  EXPECT_EQ(middle.node.rounds_done(), 2u);
  EXPECT_EQ(middle.noted("missed"), 1u);

  middle.hears(2, 0, {9, 9});
  EXPECT_EQ(middle.refused("late"), 1u);
  middle.trains_to({3, 3});
  middle.hears(0, 2, {0, 0});
  EXPECT_EQ(middle.node.rounds_done(), 2u);  // It has spoken, so it is waited for.
  middle.hears(2, 2, {0, 0});
  EXPECT_EQ(middle.node.rounds_done(), 3u);
}

// One neighbour is far ahead and stays there; the other goes on without us after a while. Those two
// stay together from then on, and nobody waits for the first again.
TEST(Rounds, WithPatienceOneThatIsFarAheadIsNotWaitedForAfterASkip) {
  OneNode middle({.protocol = "dpsgd:rounds=1000,patience=8s,patience_min=8s"});
  middle.starts();
  middle.trains_to({0, 0});
  for (Round round = 500; round < 504; ++round) middle.hears(0, round, {0, 0});
  EXPECT_EQ(middle.node.waiting_for(), "round 0 from nodes 0, 2");
  middle.hears(2, 2, {0, 0});
  EXPECT_EQ(middle.node.rounds_done(), 3u);
  for (Round round = 3; round < 20; ++round) {
    middle.trains_to({0, 0});
    middle.hears(0, 501 + round, {0, 0});
    middle.hears(2, round, {0, 0});
    ASSERT_EQ(middle.node.rounds_done(), round + 1);
  }
  EXPECT_EQ(middle.noted("skipped"), 1u);
}

TEST(Rounds, WithPatienceJoinsTheOthersInTheirRound) {
  Middle middle = patient();
  middle.starts();
  middle.hears(0, 1, {3, 3});
  middle.hears(0, 40, {9, 9});  // One peer of one: while we train, the world has moved on.
  middle.hears(2, 41, {0, 0});
  middle.trains_to({0, 0});
  EXPECT_EQ(middle.world.last_message().heading.round, 40u);
  EXPECT_EQ(middle.node.rounds_done(), 40u);
  middle.hears(2, 40, {0, 0});
  EXPECT_EQ(middle.node.model(), (Vector{3, 3}));
  EXPECT_EQ(middle.node.rounds_done(), 41u);
  EXPECT_EQ(middle.noted("skipped"), 1u);
  EXPECT_EQ(middle.node.rounds_skipped(), 40u);

  middle.trains_to({0, 0});  // Waiting in 41, with 2's share; then both are far ahead.
  middle.hears(0, 50, {6, 6});
  EXPECT_EQ(middle.node.rounds_done(), 41u);  // Half of them say 41.
  middle.hears(2, 50, {6, 6});
  EXPECT_EQ(middle.node.rounds_done(), 51u);
  EXPECT_EQ(middle.node.model(), (Vector{4, 4}));
  EXPECT_EQ(middle.noted("skipped"), 2u);
  EXPECT_EQ(middle.node.rounds_skipped(), 49u);
  middle.restarts();
  EXPECT_EQ(middle.node.rounds_skipped(), 49u);
}

TEST(Rounds, WithPatienceAStaleRoundIsLeftAtItsDeadline) {
  Middle middle(
      {.topology = "full:redraw=no", .protocol = "epidemic:fanout=2,rounds=9000,patience=8s"});
  middle.starts();
  middle.trains_to({0, 0});
  middle.hears(0, 50, {6, 6});  // Meetings change, so later rounds alone prove nothing.
  middle.hears(2, 50, {6, 6});
  EXPECT_EQ(middle.node.rounds_done(), 0u);
  middle.waits_until(8s);
  EXPECT_EQ(middle.node.rounds_done(), 51u);
  EXPECT_EQ(middle.node.rounds_skipped(), 50u);
  EXPECT_EQ(middle.node.model(), (Vector{4, 4}));
}

TEST(Rounds, ARestartedNodeGoesOnWhereItWas) {
  Middle waiting = patient();
  waiting.starts();
  waiting.trains_to({3, 3});
  waiting.hears(0, 0, {0, 0});
  waiting.waits_until(5s);
  waiting.restarts();
  EXPECT_EQ(waiting.world.trainings, 0);  // It has told this round and waits for the other.
  waiting.waits_until(12s);
  EXPECT_EQ(waiting.node.rounds_done(), 0u);
  waiting.waits_until(13s);
  EXPECT_EQ(waiting.node.rounds_done(), 1u);
  EXPECT_EQ(waiting.node.model(), (Vector{2, 2}));

  waiting.restarts();  // While it trains: that is lost.
  EXPECT_EQ(waiting.world.trainings, 1);
  EXPECT_EQ(waiting.world.training, (Vector{2, 2}));
  waiting.trains_to({0, 0});
  EXPECT_EQ(waiting.node.rounds_done(), 1u);
  waiting.hears(0, 1, {0, 0});
  EXPECT_EQ(waiting.node.rounds_done(), 2u);  // Node 2's miss was saved too.
}

// Restored to the round before the last it told, a node meets neighbours two rounds ahead: without
// patience it needs all they tell it then.
TEST(Rounds, ARestoredNodeKeepsWhatItsNeighboursTellAgain) {
  Middle middle({.protocol = "dpsgd:rounds=9"});
  middle.starts();
  middle.trains_to({0, 0});
  for (const NodeId peer : {0u, 2u})
    for (const Round round : {1u, 2u}) middle.hears(peer, round, {0, 0});
  EXPECT_EQ(middle.refused("early"), 0u);
  for (const NodeId peer : {0u, 2u}) middle.hears(peer, 0, {0, 0});
  for (int i = 0; i < 2; ++i) middle.trains_to({0, 0});
  EXPECT_EQ(middle.node.rounds_done(), 3u);
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
      for (NodeId other = 0; other < 10; ++other) {
        const auto sources = meetings.sources(node, round);
        EXPECT_EQ(meetings.meet(other, node, round),
                  std::binary_search(sources.begin(), sources.end(), other));
      }
      heard += meetings.sources(node, round).size();
    }
    EXPECT_EQ(heard, 30u);
  }
  EXPECT_NE(meetings.targets(0, 0), meetings.targets(0, 1));
}

// Each piece of a model has peers of its own in every round, and a round waits for all of them.
TEST(Mosaic, EveryPieceHasMeetingsOfItsOwn) {
  constexpr std::uint32_t kNodes = 12, kFanout = 2, kPieces = 4;
  const PreparedProtocol prepared = prepare_protocol(
      "epidemic:fanout=2,rounds=6", {.nodes = kNodes, .random = Random(1).fork("protocol")});
  LockStep world(kNodes, 40, "fragments:fraction=0.25", prepared.make);
  world.worlds[0].time += std::chrono::seconds(1);
  world.members[0]->handle(Trained{Vector(40, 1.0f), 0}, world.worlds[0]);
  ASSERT_EQ(world.worlds[0].sent.size(), kPieces * kFanout);
  std::set<NodeId> peers;
  for (const auto& [to, payload] : world.worlds[0].sent) peers.insert(to);
  EXPECT_GT(peers.size(), kFanout);
  EXPECT_EQ(world.members[0]->rounds_done(), 0u);
  world.worlds[0].trainings = 0;
  for (int round = 0; round < 6; ++round) world.step();
  for (const auto& node : world.members) {
    EXPECT_TRUE(node->finished());
    EXPECT_TRUE(node->refusals().empty());
  }
}

TEST(Mosaic, TakesRedrawnGraphsAndNoPiecesThatMayBeLeftOut) {
  const auto make_node = [](const std::string& topology, const std::string& sharing) {
    const PreparedProtocol prepared = prepare_protocol(
        "dpsgd:rounds=6",
        {.nodes = 8, .topology = make_topology(topology, 8, Random(1)), .random = Random(1)});
    LockStep world(8, 40, sharing, prepared.make);
    for (int round = 0; round < 6; ++round) world.step();
    return world.members[3]->finished();
  };
  EXPECT_TRUE(make_node("regular:degree=2,redraw=yes", "fragments:fraction=0.25"));
  EXPECT_TRUE(make_node("matching", "fragments:fraction=0.25"));
  EXPECT_THROW((void)make_node("regular:degree=2", "fragments:fraction=0.25"),
               std::invalid_argument);
  EXPECT_THROW((void)make_node("regular:degree=2,redraw=yes", "jwins:pieces=4"),
               std::invalid_argument);
}

TEST(Mosaic, RefusesMoreMeetingsThanCanBeCounted) {
  const PreparedProtocol prepared = prepare_protocol(
      "epidemic:rounds=100000000",
      {.nodes = 8, .topology = make_topology("full", 8, Random(1)), .random = Random(1)});
  try {
    const LockStep world(8, 100, "fragments:fraction=0.01", prepared.make);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "100000000 rounds of 100 pieces are more meetings than can be counted: make fewer "
              "rounds or larger pieces");
  }
}

// A node that stops in the middle of a round goes on with the pieces it had heard.
TEST(Mosaic, ContinuesFromASavedState) {
  OneNodeOptions how{.id = 1,
                     .nodes = 3,
                     .topology = "matching",
                     .protocol = "epidemic:fanout=2,rounds=2",
                     .sharing = "fragments:fraction=0.5"};
  OneNode node(how);
  const auto piece = [&](std::uint32_t id, float value) {
    const auto sharing =
        make_sharing("fragments:fraction=0.5", {.dimension = 2, .seed = node.plan.seed});
    return sharing->pack(Vector{value, value}, Random(1))[id];
  };
  node.starts();
  node.trains_to({3, 3});
  const std::string all = node.node.waiting_for();
  for (const NodeId from : {0u, 2u}) node.hears(from, {.round = 0, .degree = 2}, piece(0, 6));
  EXPECT_EQ(node.node.rounds_done(), 0u);
  EXPECT_EQ(node.node.waiting_for(), all);
  node.restarts();
  for (const NodeId from : {0u, 2u}) node.hears(from, {.round = 0, .degree = 2}, piece(1, 0));
  EXPECT_EQ(node.node.rounds_done(), 1u);
  Vector model = node.node.model();
  std::sort(model.begin(), model.end());
  EXPECT_EQ(model, (Vector{1, 5}));
}

TEST(Protocols, RefuseWhatCannotBe) {
  const std::shared_ptr<const Topology> topology = make_topology("ring", 4, Random(1));
  for (const char* spec :
       {"dpsdg", "dpsgd:rounds=-1", "dpsgd:round=3", "epidemic:fanout=4", "epidemic:fanout=0",
        "dpsgd:patience=0s", "dpsgd:patience=1s,patience_min=2s"})
    EXPECT_THROW((void)prepare_protocol(spec, {.nodes = 4, .topology = topology}),
                 std::invalid_argument)
        << spec;
}

}  // namespace
}  // namespace tessera
