#include "sim/shard.h"

#include <gtest/gtest.h>

#include <limits>

#include "node/divergence.h"

namespace tessera {
namespace {

// Answers each event by an effect that tells which it was: a wake by a delay, a training by a send.
class Echo final : public Protocol {
 public:
  void on_start(Node& node) override { node.train(); }
  void on_trained(Node& node) override {
    ++done_;
    const NodeId next = (node.id() + 1) % 4;
    node.send(node.heading(done_, 1), node.pack_whole(), std::span(&next, 1));
  }
  void on_share(Node&, NodeId, const Heading&, HeardShare) override {}
  void on_wake(Node& node) override { node.wake_after(Duration(static_cast<int>(done_))); }
  Round rounds_done() const override { return done_; }
  std::string waiting_for() const override { return done_ > 0 ? "nothing" : ""; }
  void fields(Archive& archive) override { archive(done_); }

 private:
  Round done_ = 0;
};

// Its models are those it is given, times ten.
class TimesTen final : public Trainer {
 public:
  std::size_t dimension() const override { return 2; }
  Vector initial_model() const override { return {1, 2}; }
  void train(std::span<TrainJob> cohort) override {
    for (TrainJob& job : cohort) {
      for (float& x : job.model) x *= 10;
      job.loss = 0.5f;
    }
  }
};

std::unique_ptr<Node> make_echo(NodeId id) {
  return std::make_unique<Node>(NodeParts{.id = id,
                                          .model = {1, static_cast<float>(id)},
                                          .sharing = make_sharing("full", {.dimension = 2}),
                                          .protocol = std::make_unique<Echo>(),
                                          .codec = parse_codec("gamma+planes"),
                                          .random = Random(3).fork("node", id)});
}

struct World {
  TimesTen trainer{};
  Shard shard;
  explicit World(unsigned threads = 1)
      : shard({.nodes = 4, .make_node = make_echo, .trainer = &trainer, .threads = threads}) {}

  void handle(std::vector<NodeEvent> batch) { shard.handle(batch, Instant(Duration(7))); }
  void start_and_train(NodeId id) {
    handle({{id, Started{}}});
    shard.begin_training(id, *std::move(shard.effects(0).training));
    shard.end_training(id);
    handle({{id, Trained{}}});
  }
};

TEST(Shard, HandsEachNodeItsEventsInTheirOrder) {
  for (const unsigned threads : {1u, 3u}) {
    World world(threads);
    const Vector model = {1, 1};
    world.handle({{3, Started{}}, {1, Started{}}});
    // Woken, trained, woken: the two wakes ask for delays of 0 and 1 in this order only.
    world.handle({{3, Woke{}}, {1, Woke{}}, {3, Trained{model, 0}}, {3, Woke{}}});
    const std::span<const NodeId> touched = world.shard.touched();
    ASSERT_EQ(std::vector<NodeId>(touched.begin(), touched.end()), (std::vector<NodeId>{1, 3}));
    EXPECT_EQ(world.shard.effects(0).wakes, std::vector<Duration>{Duration(0)});
    EXPECT_TRUE(world.shard.effects(0).sends.empty());
    EXPECT_EQ(world.shard.effects(1).wakes, (std::vector<Duration>{Duration(0), Duration(1)}));
    ASSERT_EQ(world.shard.effects(1).sends.size(), 1u);
    EXPECT_EQ(world.shard.effects(1).sends.front().first, 0u);
  }
}

TEST(Shard, TellsHowFarANodeIs) {
  World world;
  world.handle({{2, Started{}}});
  EXPECT_FALSE(world.shard.trains(2));  // The simulation begins it.
  world.shard.begin_training(2, *std::move(world.shard.effects(0).training));
  EXPECT_TRUE(world.shard.trains(2));
  world.shard.end_training(2);
  world.handle({{2, Trained{}}});
  const Standing standing = world.shard.standing(2);
  EXPECT_EQ(standing.rounds, 1u);
  EXPECT_EQ(standing.age, 1u);
  EXPECT_EQ(standing.loss, 0.5f);
  EXPECT_FALSE(standing.finished);
  EXPECT_EQ(world.shard.model(2)[1], 20);
  EXPECT_EQ(world.shard.waiting_for(2), "nothing");
}

TEST(Shard, TheDigestIsOfEveryModelInItsPlace) {
  World world, other;
  EXPECT_EQ(world.shard.model_digest(), other.shard.model_digest());
  world.start_and_train(3);
  EXPECT_NE(world.shard.model_digest(), other.shard.model_digest());
  other.start_and_train(0);
  EXPECT_NE(world.shard.model_digest(), other.shard.model_digest());
}

TEST(Shard, ANodeComesBackAsItsSnapshotSays) {
  World world;
  world.start_and_train(1);
  const Bytes snapshot = world.shard.snapshot(1);
  world.start_and_train(1);
  EXPECT_EQ(world.shard.model(1)[0], 100);
  ASSERT_TRUE(world.shard.can_renew(1, snapshot));
  world.shard.renew(1, snapshot);
  EXPECT_EQ(world.shard.model(1)[0], 10);
  EXPECT_EQ(world.shard.standing(1).rounds, 1u);
  world.shard.renew(1, {});
  EXPECT_EQ(world.shard.model(1)[0], 1);
  EXPECT_EQ(world.shard.standing(1).rounds, 0u);
}

TEST(Shard, SaysWhichSnapshotsItCannotRead) {
  World world;
  Bytes snapshot = world.shard.snapshot(1);
  EXPECT_TRUE(world.shard.can_renew(1, {}));
  snapshot.pop_back();
  EXPECT_FALSE(world.shard.can_renew(1, snapshot));
}

TEST(Shard, RefusesAModelThatHasDiverged) {
  World world;
  world.handle({{0, Started{}}, {2, Started{}}});
  world.shard.refuse_divergence({});
  world.handle({{2, Trained{{std::numeric_limits<float>::infinity(), 0}, 0}}});
  EXPECT_THROW(world.shard.refuse_divergence({}), Divergence);
  world.handle({{0, Woke{}}});  // It is told of once: those touched now are fine.
  world.shard.refuse_divergence({});
}

TEST(Shard, RefusesATrainingOfAnotherModel) {
  World world, loaded;
  world.handle({{0, Started{}}});
  world.shard.begin_training(0, {.model = {1, 2, 3}});
  Bytes saved;
  save_fields(world.shard, saved);
  ByteReader in(saved);
  const Result<void> refused = load_fields(loaded.shard, in);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another length"), std::string::npos);
}

TEST(Shard, GoesOnFromWhereItWasSaved) {
  World world, loaded;
  world.start_and_train(0);
  world.handle({{3, Started{}}});
  world.shard.begin_training(3, *std::move(world.shard.effects(0).training));
  Bytes saved;
  save_fields(world.shard, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded.shard, in).ok());
  EXPECT_EQ(loaded.shard.model_digest(), world.shard.model_digest());
  EXPECT_FALSE(loaded.shard.trains(0));
  loaded.shard.end_training(3);
  loaded.handle({{3, Trained{}}});
  EXPECT_EQ(loaded.shard.node(3).model(), (Vector{10, 30}));
}

}  // namespace
}  // namespace tessera
