// What a node believes, and what it says of itself: models that are offered, checkpoints that are
// not its own, a model that diverges, records that cannot be written, work that was not done.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "live/ring_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// ---- whose checkpoint it is

TEST_F(LiveRing, ACheckpointOfAnotherNodeOrRunIsRefusedByName) {
  make("dpsgd:rounds=5");
  run_all();
  const auto transport = network_->start(2);
  const Result<void> anothers = nodes_[2]->restore(*transport, nodes_[0]->saved);
  ASSERT_FALSE(anothers.ok());
  EXPECT_EQ(anothers.error().message, "it is of node 0, and this is node 2");
  nodes_[2]->roster_run = 0xabc;
  const Result<void> earlier = nodes_[2]->restore(*transport, nodes_[2]->saved);
  ASSERT_FALSE(earlier.ok());
  EXPECT_NE(earlier.error().message.find("and this is run 0000000000000abc"), std::string::npos)
      << earlier.error().message;
}

// The same experiment run again with the same roster, and one machine's folder not cleared: its
// node had finished, and must not make the others think that they have.
TEST_F(LiveRing, AFolderThatWasNotClearedCannotPassForTheNewRun) {
  const std::string protocol = "dpsgd:rounds=60,patience=300ms";
  make(protocol);
  run_all();
  const Bytes old = nodes_[2]->saved;
  make(protocol);
  nodes_[2]->saved = old;
  for (auto& node : nodes_) {
    node->options.pace = 5ms;
    node->options.linger = 200ms;
  }
  run_all();
  EXPECT_NE(nodes_[2]->failure.find("is of an earlier run"), std::string::npos)
      << nodes_[2]->failure;
  for (const NodeId id : {0u, 1u, 3u}) {
    EXPECT_EQ(nodes_[id]->failure, "");
    EXPECT_EQ(nodes_[id]->rounds, 60u);
    EXPECT_EQ(nodes_[id]->end, RunEnd::kFinished) << nodes_[id]->shortfall;
    EXPECT_LE(nodes_[id]->status.work.skipped, 3u);
  }
}

// ---- a model that diverges

TEST_F(LiveRing, AModelThatDivergesOnceGoesBackToTheLastCheckpoint) {
  make("dpsgd:rounds=30");
  run_all();
  const auto whole = digests();
  make("dpsgd:rounds=30");
  nodes_[1]->trainer().spoilt_first = nodes_[1]->trainer().spoilt_last = 12;
  run_all();
  EXPECT_EQ(nodes_[1]->failure, "");
  EXPECT_TRUE(nodes_[1]->has_said("going back to round 11, this once"));
  EXPECT_EQ(digests(), whole);  // Nobody was told of it.
}

TEST_F(LiveRing, AModelThatDivergesTwiceEndsTheRunAndIsNeverSaved) {
  make("dpsgd:rounds=30,patience=150ms");
  nodes_[1]->trainer().spoilt_first = 12;
  nodes_[1]->trainer().spoilt_last = 1000;
  for (auto& node : nodes_) node->options.linger = 200ms;
  run_all();
  EXPECT_NE(nodes_[1]->failure.find("diverged"), std::string::npos) << nodes_[1]->failure;
  for (const NodeId id : {0u, 2u, 3u}) EXPECT_EQ(nodes_[id]->failure, "");
  // What was saved is good: with the cause gone the node comes to its end.
  nodes_[1]->trainer().spoilt_last = 0;
  nodes_[1]->failure.clear();
  start(1).join();
  EXPECT_EQ(nodes_[1]->failure, "");
  EXPECT_EQ(nodes_[1]->rounds, 30u);
}

// ---- records that cannot be written

TEST_F(LiveRing, GoesOnWhileNoCheckpointCanBeWritten) {
  make("dpsgd:rounds=30");
  run_all();
  const auto whole = digests();
  make("dpsgd:rounds=30");
  nodes_[1]->failing_checkpoints = 3;
  run_all();
  EXPECT_EQ(nodes_[1]->failure, "");
  EXPECT_EQ(digests(), whole);
  const auto transport = network_->start(1);
  EXPECT_TRUE(nodes_[1]->restore(*transport, nodes_[1]->saved).ok());
}

TEST_F(LiveRing, AnEndThatCannotBeSavedIsAFailure) {
  make("dpsgd:rounds=5");
  nodes_[1]->failing_checkpoints = 1'000'000;
  nodes_[1]->options.stop_within = 300ms;
  run_all();
  EXPECT_NE(nodes_[1]->failure.find("could not be written"), std::string::npos)
      << nodes_[1]->failure;
}

// ---- models that are offered

class Newcomer : public LiveRing {
 protected:
  // Node 2 is new; 1 and 3 are its neighbours, and 0 is there.
  void begin(std::vector<NodeId> helpers) {
    make("dpsgd:rounds=5,patience=50ms");
    nodes_[2]->options.helpers = std::move(helpers);
    nodes_[2]->options.gather = kPatience;
    nodes_[2]->options.linger = 50ms;
    for (const NodeId id : {0u, 1u, 3u}) others_.push_back(network_->start(id));
    newcomer_ = start(2);
  }
  Transport& one() { return *others_[1]; }
  Transport& three() { return *others_[2]; }
  static void offer(Transport& by, std::uint64_t nonce, float value) {
    by.send(2, encode_control(
                   ModelOffer{.nonce = nonce, .rounds = 20, .model = Vector(kDimension, value)}));
  }
  std::uint64_t refused(std::string_view word) const {
    const auto found = nodes_[2]->status.refusals.find(word);
    return found == nodes_[2]->status.refusals.end() ? 0 : found->second;
  }

  std::vector<std::unique_ptr<Transport>> others_;
  std::jthread newcomer_;
};

TEST_F(Newcomer, AnOfferThatWasNotAskedForIsRefused) {
  begin({1, 3});
  ASSERT_TRUE(await([&] { return one().peer(2).alive(); }));
  offer(one(), 0, 3.0f);  // Right behind the hello, before any question.
  const std::uint64_t asked_one = await_question(one()), asked_three = await_question(three());
  offer(one(), asked_three, 3.0f);  // The answer to another's question.
  offer(one(), asked_one ^ 1, 3.0f);
  offer(three(), asked_three, 0.5f);
  offer(one(), asked_one, kNan);
  newcomer_.join();
  EXPECT_TRUE(nodes_[2]->has_said("begins with the model of node-3"));
  EXPECT_EQ(nodes_[2]->adoptions, 1u);
  EXPECT_EQ(refused("unasked"), 3u);
  EXPECT_EQ(refused("not-finite"), 1u);
}

TEST_F(Newcomer, OfTwoOffersTheOneNearerToTheBeginningIsTaken) {
  begin({1, 3});
  offer(one(), await_question(one()), 50.0f);
  offer(three(), await_question(three()), 0.5f);
  newcomer_.join();
  EXPECT_TRUE(nodes_[2]->has_said("begins with the model of node-3"));
}

TEST_F(Newcomer, WithOneNeighbourItsOfferIsTakenUnlessOutOfAllProportion) {
  begin({1});
  offer(one(), await_question(one()), 1000.0f);
  newcomer_.join();
  EXPECT_EQ(nodes_[2]->adoptions, 0u);
  EXPECT_EQ(refused("too-large"), 1u);
  others_.clear();
  begin({1});
  offer(one(), await_question(one()), 0.5f);
  newcomer_.join();
  EXPECT_EQ(nodes_[2]->adoptions, 1u);
}

// ---- work that was not done

TEST_F(LiveRing, OneThatSkippedRoundsHasNotFinished) {
  make("dpsgd:rounds=40,patience=100ms");
  for (auto& node : nodes_) node->options.pace = 10ms;
  {
    std::vector<std::jthread> threads;
    for (const NodeId id : {0u, 1u, 2u}) threads.push_back(start(id));
    ASSERT_TRUE(await([&] { return nodes_[0]->round >= 20 && nodes_[2]->round >= 20; }));
    threads.push_back(start(3));  // It asks nobody for a model, and joins the others' round.
  }
  EXPECT_EQ(nodes_[3]->rounds, 40u);
  EXPECT_EQ(nodes_[3]->end, RunEnd::kFellShort);
  EXPECT_GE(nodes_[3]->status.work.skipped, 15u);
  EXPECT_TRUE(nodes_[3]->has_said("rounds were skipped"));
  EXPECT_LT(nodes_[0]->status.work.skipped, 10u);
}

TEST_F(LiveRing, OneThatWasAloneSaysSoAndHasNotFinished) {
  make("dpsgd:rounds=60,patience=1ms");
  LiveNode& node = *nodes_[1];
  node.options.pace = 10ms;
  node.options.linger = 50ms;
  node.options.effort.alone_min = 100ms;
  start(1).join();
  EXPECT_EQ(node.end, RunEnd::kFellShort);
  EXPECT_TRUE(node.has_said("ALONE: no peer has been alive"));
  EXPECT_GT(node.status.work.alone, 30u);
  ASSERT_FALSE(node.status.alarms.empty());
}

}  // namespace
}  // namespace tessera
