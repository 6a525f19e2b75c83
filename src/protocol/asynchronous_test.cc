// Protocols that wait for nobody: DivShare, AD-PSGD, SWIFT.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "protocol/meetings.h"
#include "protocol/pending.h"
#include "protocol/question.h"
#include "protocol/rounds.h"
#include "protocol/scatter.h"
#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(Pending, KeepsTheNewestOfEachSenderAndPieceInOrder) {
  Pending pending;
  const auto put = [](Pending& to, NodeId from, std::uint32_t piece, std::uint64_t age) {
    return to.put({from, piece, age}, std::make_shared<const Share>(Share{
                                          .dimension = 1, .values = {static_cast<float>(age)}}));
  };
  EXPECT_TRUE(put(pending, 2, 0, 5));
  EXPECT_TRUE(put(pending, 1, 1, 6));
  EXPECT_TRUE(put(pending, 1, 0, 7));
  EXPECT_TRUE(put(pending, 2, 0, 8));
  EXPECT_FALSE(put(pending, 2, 0, 7));  // Overtaken on the way.
  EXPECT_TRUE(put(pending, 2, 0, 8));   // The same again.
  Bytes saved;
  save_fields(pending, saved);
  Pending restored;
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(restored, in).ok());
  for (const Pending* p : {&pending, &restored}) {
    std::vector<std::pair<NodeId, float>> seen;
    for (const auto& [from, share] : p->in_order()) seen.emplace_back(from, share->values.front());
    EXPECT_EQ(seen, (std::vector<std::pair<NodeId, float>>{{1, 7}, {1, 6}, {2, 8}}));
    EXPECT_EQ(p->evenly_weighted().front().weight, 0.25f);
  }
  // A sender that lost everything starts again at age zero; its old share does not stay for ever.
  EXPECT_TRUE(put(pending, 3, 0, 100));
  EXPECT_TRUE(put(pending, 3, 0, 0));
}

// The recipients a scatter chose, as the meetings of a synchronous protocol.
struct Recorded final : Meetings {
  std::vector<NodeId> targets(NodeId node, Round round) const override {
    const std::set<NodeId>& chosen = sent.at({round, node});
    return {chosen.begin(), chosen.end()};
  }
  std::vector<NodeId> sources(NodeId node, Round round) const override {
    std::vector<NodeId> found;
    for (const auto& [who, chosen] : sent)
      if (who.first == round && chosen.count(node) > 0) found.push_back(who.second);
    return found;
  }
  bool meet(NodeId from, NodeId to, Round round) const override {
    return sent.at({round, from}).count(to) > 0;
  }
  bool fixed() const override { return false; }
  std::map<std::pair<Round, NodeId>, std::set<NodeId>> sent{};
};

struct ScatterWorld {
  explicit ScatterWorld(bool lag)
      : world(6, 5, "full", [&](NodeId) {
          return std::make_unique<Scatter>(
              ScatterOptions{.nodes = 6, .fanout = 2, .lag = lag, .ending = {.rounds = 9}});
        }) {
    for (Round round = 0; round < 9; ++round) {
      world.step();
      std::vector<Vector> models;
      for (const auto& node : world.members) models.push_back(node->model());
      history.push_back(models);
    }
  }
  LockStep world;
  std::vector<std::vector<Vector>> history{};
};

std::shared_ptr<Recorded> recipients_of_scatter() {
  auto recorded = std::make_shared<Recorded>();
  for (NodeId id = 0; id < 6; ++id) {
    OneNode one({.id = id, .nodes = 6, .topology = "full", .protocol = "divshare:fanout=2"});
    one.node = Node({.id = id,
                     .model = Vector(5, 0.0f),
                     .sharing = make_sharing("full", {.dimension = 5}),
                     .protocol = std::make_unique<Scatter>(
                         ScatterOptions{.nodes = 6, .fanout = 2, .ending = {.rounds = 9}}),
                     .codec = parse_codec("raw32+f32"),
                     .random = Random(3).fork("node", id)});
    one.starts();
    for (Round round = 0; round < 9; ++round) {
      one.world.sent.clear();
      one.trains_to(Vector(5, 0.0f));
      for (const auto& [to, payload] : one.world.sent) recorded->sent[{round, id}].insert(to);
      EXPECT_EQ((recorded->sent[{round, id}].size()), 2u);
      EXPECT_EQ((recorded->sent[{round, id}].count(id)), 0u);
    }
  }
  return recorded;
}

// One piece, nodes in step, messages that take no time: without lag, DivShare is Epidemic Learning
// with the same recipients, to the bit.
TEST(DivShare, InStepWithoutLagIsEpidemicLearning) {
  const auto meetings = recipients_of_scatter();
  LockStep epidemic(6, 5, "full", [&](NodeId) {
    return std::make_unique<Rounds>(meetings,
                                    RoundsOptions{.rounds = 9, .weights = Weights::kUniform});
  });
  ScatterWorld scatter(false);
  for (Round round = 0; round < 9; ++round) {
    epidemic.step();
    for (NodeId id = 0; id < 6; ++id)
      EXPECT_EQ(scatter.history[round][id], epidemic.members[id]->model()) << round << " " << id;
  }
  EXPECT_TRUE(scatter.world.members[0]->finished());
}

// With lag a node averages its fresh model with what the others sent a round earlier.
TEST(DivShare, InStepWithLagHearsThePreviousRound) {
  const auto meetings = recipients_of_scatter();
  std::vector<Vector> models(6, Vector(5, 0.0f)), sent_before(6);
  const ScatterWorld scatter(true);
  for (Round round = 0; round < 9; ++round) {
    std::vector<Vector> trained = models;
    for (NodeId id = 0; id < 6; ++id)
      for (std::size_t k = 0; k < 5; ++k)
        trained[id][k] += 0.1f * (LockStep::target(id, k) - models[id][k]);
    for (NodeId id = 0; id < 6; ++id) {
      models[id] = trained[id];
      if (round == 0) continue;
      const std::vector<NodeId> sources = meetings->sources(id, round - 1);
      for (std::size_t k = 0; k < 5; ++k) {
        double sum = trained[id][k];
        for (const NodeId from : sources) sum += sent_before[from][k];
        models[id][k] = static_cast<float>(sum / static_cast<double>(sources.size() + 1));
      }
    }
    sent_before = trained;
    for (NodeId id = 0; id < 6; ++id)
      for (std::size_t k = 0; k < 5; ++k)
        EXPECT_NEAR(scatter.history[round][id][k], models[id][k], 2e-6) << round << " " << id;
    for (NodeId id = 0; id < 6; ++id) models[id] = scatter.history[round][id];
  }
}

// Two pieces to two of three others each: four letters, each piece to different ones.
TEST(DivShare, SendsEachPieceToAsManyAsAskedFor) {
  OneNode one({.nodes = 4,
               .topology = "full",
               .protocol = "divshare:fanout=2,until=10s",
               .sharing = "fragments:fraction=0.5"});
  one.starts();
  ASSERT_EQ(one.world.wakes.size(), 1u);
  EXPECT_EQ(one.world.wakes.front(), Instant(10s));
  one.trains_to({3, 5});
  EXPECT_EQ(one.world.drops, 1);
  std::map<std::uint32_t, std::set<NodeId>> recipients;
  for (const auto& [to, payload] : one.world.sent) {
    const Share share = decode(payload.letter->bytes()).value().share;
    EXPECT_NE(to, 1u);
    EXPECT_TRUE(recipients[std::get<Fragment>(share.coordinates).id].insert(to).second);
  }
  ASSERT_EQ(recipients.size(), 2u);
  for (const auto& [id, whom] : recipients) EXPECT_EQ(whom.size(), 2u);
  EXPECT_EQ(one.world.trainings, 2);
}

TEST(DivShare, EndsAtItsMomentAndResumesAfterACrash) {
  OneNode one({.nodes = 4, .topology = "full", .protocol = "divshare:fanout=2,until=10s"});
  one.starts();
  one.hears(0, 0, {4, 4});
  one.hears(2, 0, {1, 7});
  one.waits_until(3s);
  one.restarts();  // Lost its training, not what it had heard.
  EXPECT_EQ(one.world.trainings, 1);
  EXPECT_EQ(one.world.wakes, std::vector<Instant>{Instant(10s)});
  one.trains_to({1, 1});
  EXPECT_EQ(one.node.model(), (Vector{2, 4}));
  EXPECT_EQ(one.node.rounds_done(), 1u);
  EXPECT_FALSE(one.node.finished());
  one.waits_until(10s);
  EXPECT_TRUE(one.node.finished());
  one.hears(0, 1, {4, 4});
  EXPECT_EQ(one.node.model(), (Vector{2, 4}));
}

TEST(AdPsgd, APairMeetsHalfwayWhileBothTrain) {
  OneNode asker({.id = 0, .topology = "line", .protocol = "adpsgd:rounds=5,patience=3s"});
  OneNode answerer({.id = 1, .topology = "line", .protocol = "adpsgd:rounds=5"});
  asker.starts();
  answerer.starts();
  ASSERT_EQ(asker.world.sent.size(), 1u);
  EXPECT_TRUE(answerer.world.sent.empty());
  asker.trains_to({4, 0});  // The question is still open: no second one.
  EXPECT_EQ(asker.world.sent.size(), 1u);
  answerer.trains_to({0, 8});

  const Message question = asker.world.last_message();
  EXPECT_EQ(question.heading.own, kAsks);
  EXPECT_EQ(question.share.values, (Vector{0, 0}));
  answerer.hears(0, question.heading, question.share);
  ASSERT_EQ(answerer.world.sent.size(), 1u);
  const Message answer = answerer.world.last_message();
  EXPECT_TRUE(answer.heading.own.empty());
  EXPECT_EQ(answer.share.values, (Vector{0, 8}));
  EXPECT_EQ(answerer.node.model(), (Vector{0, 4}));
  answerer.hears(0, question.heading, question.share);
  EXPECT_EQ(answerer.refused("duplicate"), 1u);

  asker.hears(1, answer.heading, answer.share);
  EXPECT_EQ(asker.node.model(), (Vector{2, 4}));
  asker.hears(1, answer.heading, answer.share);
  EXPECT_EQ(asker.refused("late"), 1u);
  asker.trains_to({5, 1});  // From (4, 0): one more in both, added to what averaging made of it.
  EXPECT_EQ(asker.node.model(), (Vector{3, 5}));
  EXPECT_EQ(asker.world.sent.size(), 2u);
}

TEST(AdPsgd, AnAnswerThatDoesNotComeIsGivenUp) {
  OneNode asker({.id = 0, .topology = "line", .protocol = "adpsgd:until=60s,patience=3s"});
  asker.starts();
  asker.waits_until(2s);
  asker.trains_to({1, 1});
  EXPECT_EQ(asker.world.sent.size(), 1u);
  asker.waits_until(4s);
  asker.trains_to({2, 2});
  EXPECT_EQ(asker.world.sent.size(), 2u);
  EXPECT_EQ(asker.noted("unanswered"), 1u);
  asker.hears(1, 0, {9, 9});  // The first question's.
  EXPECT_EQ(asker.refused("late"), 1u);
  asker.restarts();
  EXPECT_EQ(asker.world.sent.size(), 1u);  // Asks anew.
  asker.hears(2, 2, {9, 9});
  EXPECT_EQ(asker.refused("stranger"), 1u);
}

TEST(AdPsgd, PingsAreAnsweredWithTheLastModel) {
  OneNode one({.nodes = 4, .topology = "full", .protocol = "adpsgd:form=pings,fanout=5,rounds=3"});
  one.starts();
  const Heading ping{.own = kAsks};
  one.hears(3, ping, Vector{8, 8});
  EXPECT_TRUE(one.world.sent.empty());  // Nothing to tell yet.
  one.trains_to({2, 4});
  ASSERT_EQ(one.world.sent.size(), 2u);  // Two pings; the model goes on as the mean with node 3's.
  EXPECT_EQ(one.world.last_message().heading.own, kAsks);
  EXPECT_EQ(one.node.model(), (Vector{5, 6}));
  one.restarts();
  one.hears(3, ping, Vector{8, 8});
  ASSERT_EQ(one.world.sent.size(), 1u);
  EXPECT_TRUE(one.world.last_message().heading.own.empty());
  EXPECT_EQ(one.world.last_message().share.values, (Vector{2, 4}));
  one.hears(2, Heading{}, Vector{0, 0});
  EXPECT_EQ(one.world.sent.size(), 1u);  // A pong asks for nothing.
}

// Node 1 of a line of three: both neighbours weigh a third.
TEST(Swift, AveragesEverySecondTimeWithTheStoredOrWithItself) {
  for (const bool stored : {true, false}) {
    OneNode one({.protocol = std::string("swift:every=2,rounds=9,missing=") +
                             (stored ? "stored" : "self")});
    one.starts();
    one.hears(0, 0, {6, 0});
    one.hears(2, 0, {0, 6});
    one.trains_to({3, 3});
    EXPECT_EQ(one.world.sent.size(), 2u);
    EXPECT_EQ(one.node.model(), (Vector{3, 3}));
    one.trains_to({3, 3});
    EXPECT_EQ(one.node.model(), (Vector{3, 3}));  // (3 + 6 + 0) / 3.
    one.restarts();
    one.hears(0, 1, {9, 9});
    one.trains_to({3, 3});
    one.trains_to({0, 0});
    EXPECT_EQ(one.node.model(), stored ? (Vector{3, 5}) : (Vector{3, 3}));
    one.hears(1, 1, {0, 0});
    EXPECT_EQ(one.refused("stranger"), 1u);
  }
}

TEST(Swift, ScattersWholeModelsAndTakesNothingBack) {
  OneNode one({.nodes = 8, .topology = "full", .protocol = "swift:form=scatter,fanout=3"});
  one.starts();
  one.trains_to({1, 1});
  EXPECT_EQ(one.world.sent.size(), 3u);
  EXPECT_EQ(one.world.drops, 0);
}

TEST(Asynchronous, RefuseWhatCannotBe) {
  const auto refuses = [](const char* spec, const char* topology) {
    const std::shared_ptr<const Topology> made = make_topology(topology, 6, Random(1));
    EXPECT_THROW((void)prepare_protocol(spec, {.nodes = 6, .topology = made}),
                 std::invalid_argument)
        << spec << " " << topology;
  };
  refuses("divshare:fanout=6", "ring");
  refuses("divshare:until=0s", "ring");
  refuses("divshare:rounds=-1", "ring");
  refuses("adpsgd", "full");
  refuses("adpsgd", "ring:redraw=yes");
  refuses("adpsgd:form=pings,fanout=1", "ring");
  refuses("adpsgd:form=gossip", "ring");
  refuses("swift", "regular:degree=3,redraw=yes");
  refuses("swift:every=0", "ring");
  EXPECT_THROW(OneNode({.protocol = "swift", .sharing = "fragments:fraction=0.5"}),
               std::invalid_argument);
}

}  // namespace
}  // namespace tessera
