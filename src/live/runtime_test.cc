// Rings of live nodes: the same bits however threads run, whoever crashes and whoever comes late.
#include "live/runtime.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "live/ring_for_tests.h"
#include "live/runtime_control.h"

namespace tessera {
namespace {

// Its process may die between asking for an evaluation and hearing of it.
TEST_F(LiveRing, NoRowIsLostWithAProcess) {
  make("dpsgd:rounds=30");
  nodes_[2]->crash_at_checkpoint = 10;
  {
    std::vector<std::jthread> others;
    for (const NodeId id : {0u, 1u, 3u}) others.push_back(start(id));
    start(2).join();
    EXPECT_TRUE(nodes_[2]->rows.empty());
    start(2).join();
  }
  std::vector<Round> labels;
  for (const RuntimeRow& row : nodes_[2]->rows) labels.push_back(row.round);
  EXPECT_EQ(labels, (std::vector<Round>{10, 20, 30}));
}

TEST_F(LiveRing, BeginsWithARowOfTheStartWhereThatIsAsked) {
  make("dpsgd:rounds=20");
  for (auto& node : nodes_) node->options.evaluate_start = true;
  {
    std::vector<std::jthread> all;
    for (const NodeId id : {0u, 1u, 2u, 3u}) all.push_back(start(id));
  }
  std::vector<Round> labels;
  for (const RuntimeRow& row : nodes_[2]->rows) labels.push_back(row.round);
  EXPECT_EQ(labels, (std::vector<Round>{0, 10, 20}));
  EXPECT_EQ(nodes_[2]->rows[0].seconds, 0);
  EXPECT_TRUE(std::isnan(nodes_[2]->rows[0].train_loss));
}

// Links rest after 5 ms without use, and node 2 crashes in the middle.
TEST_F(LiveRing, EndsInTheSameModelsOverLinksThatAreMadeAsTheyAreNeeded) {
  for (const char* protocol : {"dpsgd:rounds=30", "epidemic:fanout=1,rounds=30"}) {
    make(protocol);
    run_all();
    const auto first = digests();
    TransportOptions link = quick();
    link.wants_all = false;
    link.unused_max = std::chrono::milliseconds(5);
    make(protocol, link);
    for (auto& node : nodes_) {
      node->links_as_needed = true;
      node->options.gather = kPatience;
    }
    nodes_[2]->crash_at_checkpoint = 10;
    {
      std::vector<std::jthread> others;
      for (const NodeId id : {0u, 1u, 3u}) others.push_back(start(id));
      start(2).join();
      EXPECT_EQ(nodes_[2]->rounds, 10u);
      start(2).join();
    }
    EXPECT_EQ(digests(), first) << protocol;
  }
}

// Node 1 answers heartbeats and takes nothing: its transport lives, its loop does not.
TEST_F(LiveRing, GoesOnBesideAPeerThatTakesNothing) {
  TransportOptions link = quick();
  link.queue_bytes_max = 1000;
  link.message_bytes_max = 1000;
  link.held_bytes_extra = 1000;
  make("dpsgd:rounds=60,patience=100ms", link);
  const std::unique_ptr<Transport> dead = network_->start(1);
  std::vector<std::jthread> others;
  for (const NodeId id : {0u, 2u, 3u}) {
    nodes_[id]->options.stalled = std::chrono::milliseconds(200);
    nodes_[id]->options.linger = std::chrono::milliseconds(100);
    others.push_back(start(id));
  }
  EXPECT_TRUE(await([&] { return nodes_[0]->round == 60 && nodes_[2]->round == 60; }));
  for (const NodeId id : {0u, 2u, 3u}) nodes_[id]->stop();
}

TEST_F(LiveRing, EndsInTheSameModelsHoweverThreadsRun) {
  make("dpsgd:rounds=30");
  run_all();
  const auto first = digests();
  for (const auto& node : nodes_) {
    EXPECT_EQ(node->rounds, 30u);
    ASSERT_EQ(node->rows.size(), 3u);  // Every ten rounds; the last is the end.
    EXPECT_EQ(node->rows.back().round, 30u);
    EXPECT_EQ(node->rows.back().sent.messages, 60u);
  }
  EXPECT_LT(nodes_[0]->rows.back().score.loss, nodes_[0]->rows.front().score.loss);
  make("dpsgd:rounds=30");
  run_all();
  EXPECT_EQ(digests(), first);
}

TEST_F(LiveRing, FullQueuesDelayAndChangeNothing) {
  make("dpsgd:rounds=30");
  run_all();
  const auto roomy = digests();
  TransportOptions narrow = quick();
  narrow.queue_bytes_max = 1;
  make("dpsgd:rounds=30", narrow);
  run_all();
  EXPECT_EQ(digests(), roomy);
}

TEST_F(LiveRing, StoppedAndStartedAgainItEndsInTheSameModels) {
  make("dpsgd:rounds=30");
  run_all();
  const auto whole = digests();
  make("dpsgd:rounds=30");
  for (auto& node : nodes_) {
    node->options.pace = std::chrono::milliseconds(5);
    node->options.stop_within = std::chrono::milliseconds(100);
  }
  {
    std::vector<std::jthread> threads;
    for (NodeId id = 0; id < kNodes; ++id) threads.push_back(start(id));
    EXPECT_TRUE(await([&] { return nodes_[2]->round >= 5; }));
    for (auto& node : nodes_) node->stop();
  }
  for (const auto& node : nodes_) EXPECT_LT(node->rounds, 30u);
  run_all();
  EXPECT_EQ(digests(), whole);
}

// Its trainer is a loop elsewhere that has ended, in the middle of a training or of a round's test.
TEST_F(LiveRing, ATrainingThatIsAbandonedIsDoneAgain) {
  make("dpsgd:rounds=30");
  run_all();
  const auto whole = digests();
  make("dpsgd:rounds=30");
  nodes_[1]->options.checkpoint_every = std::chrono::hours(1);  // None but the first and the last.
  nodes_[1]->trainer().abandoned = 12;
  std::vector<std::jthread> threads;
  for (const NodeId id : {0u, 2u, 3u}) threads.push_back(start(id));
  start(1).join();
  EXPECT_EQ(nodes_[1]->failure, "");
  EXPECT_EQ(nodes_[1]->end, RunEnd::kStopped);
  EXPECT_EQ(nodes_[1]->rounds, 11u);
  EXPECT_TRUE(nodes_[1]->has_said("left in the middle of a training"));
  start(1).join();
  threads.clear();
  EXPECT_EQ(digests(), whole);
}

TEST_F(LiveRing, CrashesAreInvisibleWhenEveryRoundIsSaved) {
  make("dpsgd:rounds=30");
  run_all();
  const auto whole = digests();
  make("dpsgd:rounds=30");
  std::vector<std::jthread> threads;
  for (const NodeId id : {0u, 2u, 3u}) threads.push_back(start(id));
  for (const Round round : {3u, 4u, 11u, 20u}) {
    nodes_[1]->crash_after = round;
    start(1).join();
  }
  nodes_[1]->crash_after = 0;
  threads.push_back(start(1));
  threads.clear();
  EXPECT_EQ(digests(), whole);
}

// Cut anywhere it is refused; with a bit flipped it is refused or read, and nothing crashes.
TEST_F(LiveRing, ADamagedStateIsRefusedInOneLine) {
  make("dpsgd:rounds=5");
  run_all();
  const Bytes whole = nodes_[1]->saved;
  const auto transport = network_->start(1);
  const auto is_one_line = [](const std::string& text) {
    return !text.empty() && text.find('\n') == text.npos;
  };
  ASSERT_TRUE(nodes_[1]->restore(*transport, whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<void> cut = nodes_[1]->restore(*transport, ByteSpan(whole).first(size));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_TRUE(is_one_line(cut.error().message)) << cut.error().message;
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(nodes_[1]->restore(*transport, longer).ok());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= static_cast<std::byte>(1u << i % 8);
    const Result<void> read = nodes_[1]->restore(*transport, flipped);
    EXPECT_TRUE(read.ok() || is_one_line(read.error().message)) << i;
  }
}

TEST_F(LiveRing, ALatecomerIsGivenAModelAndJoins) {
  make("dpsgd:rounds=60,patience=100ms");
  nodes_[3]->options.helpers = {0, 2};
  nodes_[3]->options.gather = kPatience;
  for (auto& node : nodes_) node->options.pace = std::chrono::milliseconds(10);
  std::vector<std::jthread> threads;
  for (const NodeId id : {0u, 1u, 2u}) threads.push_back(start(id));
  ASSERT_TRUE(await([&] { return nodes_[0]->round >= 10 && nodes_[2]->round >= 10; }));
  threads.push_back(start(3));
  threads.clear();
  EXPECT_EQ(nodes_[3]->adoptions, 1u);
  EXPECT_EQ(nodes_[3]->rounds, 60u);
  EXPECT_LT(nodes_[3]->rows.back().sent.messages, 2 * 60u);  // It skipped rounds.
  EXPECT_NEAR(nodes_[3]->rows.back().score.loss, nodes_[0]->rows.back().score.loss, 0.2);
}

// One that has begun no earlier is the first to answer: it has nothing else to do.
TEST_F(LiveRing, LatecomersDoNotMisleadEachOther) {
  make("dpsgd:rounds=5,patience=50ms");
  nodes_[2]->options.helpers = {3, 1};
  nodes_[2]->options.gather = kPatience;
  nodes_[2]->options.linger = std::chrono::milliseconds(50);
  const auto idle = network_->start(0), ahead = network_->start(1), as_late = network_->start(3);
  std::jthread late = start(2);
  const std::uint64_t asked_late = await_question(*as_late), asked = await_question(*ahead);
  as_late->send(2, encode_control(ModelOffer{.nonce = asked_late}));
  ASSERT_TRUE(await([&] { return nodes_[2]->offers_declined == 1; }));
  ahead->send(2, encode_control(
                     ModelOffer{.nonce = asked, .rounds = 20, .model = Vector(kDimension, 0.5f)}));
  late.join();
  EXPECT_EQ(nodes_[2]->adoptions, 1u);
}

TEST_F(LiveRing, WhatIsRecordedReplaysToTheBit) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / fmt::format("tessera_event_log_{}", ::getpid());
  make("dpsgd:rounds=20");
  LiveNode& node = *nodes_[1];
  const auto make_node = [&](Vector model) { return node.make(std::move(model)); };
  node.log = std::make_unique<EventLogWriter>(path, EventLogHeader{.id = 1, .config = "none"});
  run_all();
  node.log.reset();
  Quadratic trainer = node.make_trainer();
  auto log = EventLogReader::open(path);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->header().config, "none");
  const auto again = replay(*log, make_node, trainer);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->difference, "");
  EXPECT_EQ(again->rounds, 20u);
  EXPECT_EQ(again->trainings, 20u);
  EXPECT_EQ(again->model_digest, node.digest);
  EXPECT_FALSE(again->torn);

  // Another trainer does otherwise, and is told when.
  Quadratic other({.nodes = kNodes, .dimension = kDimension, .seed = 2});
  log = EventLogReader::open(path);
  EXPECT_NE(replay(*log, make_node, other)->difference.find("another model"), std::string::npos);

  // One of another version is refused by name: the header's second number, its checksum made right.
  const Result<Bytes> file = read_file(path);
  ASSERT_TRUE(file.ok());
  Bytes older = *file;
  constexpr std::size_t kLengthAndChecksum = 16;
  older[kLengthAndChecksum + 4] = std::byte{1};
  const auto header_bytes = ByteReader(older).get<std::uint64_t>();
  const std::uint64_t checksum =
      hash_bytes(ByteSpan(older).subspan(kLengthAndChecksum, header_bytes));
  std::memcpy(older.data() + 8, &checksum, sizeof checksum);
  ASSERT_TRUE(write_file(path, older).ok());
  const auto refused = EventLogReader::open(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("of version 1"), std::string::npos);
  ASSERT_TRUE(write_file(path, *file).ok());

  // A file whose end is torn off replays up to there.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
  log = EventLogReader::open(path);
  ASSERT_TRUE(log.ok());
  const auto torn = replay(*log, make_node, trainer);
  EXPECT_TRUE(torn->torn);
  EXPECT_EQ(torn->difference, "");
  std::filesystem::remove(path);
}

TEST(Control, EveryKindComesBackAndDamageIsRefused) {
  for (const Control& control :
       {Control(ModelRequest{9, 3}), Control(Finished{}), Control(Begun{5}),
        Control(ModelOffer{9, 7, {1.0f, 2.0f}}), Control(ModelOffer{9, 7, {}})}) {
    const auto bytes = encode_control(control);
    EXPECT_TRUE(is_control(*bytes));
    const auto back = decode_control(*bytes, 2);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->index(), control.index());
    for (std::size_t size = 4; size < bytes->size(); ++size)
      EXPECT_FALSE(decode_control(ByteSpan(*bytes).first(size), 2).ok()) << size;
    Bytes longer = *bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_control(longer, 2).ok());
  }
  EXPECT_FALSE(decode_control(*encode_control(ModelOffer{9, 7, {1, 2, 3}}), 2).ok());
}

}  // namespace
}  // namespace tessera
