// One set of tests over both carriers: what holds between threads must hold between machines.
#include "live/link/transport.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/random.h"
#include "live/link/testing.h"

// ZeroMQ's lock-free queues are beyond the thread sanitizer; what it says of them, and of what
// libsodium decrypts into them, is not about us.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libzmq.so\ncalled_from_lib:libsodium.so\n";
}
#endif

namespace tessera {
namespace {

using namespace std::chrono_literals;

class TransportTest : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<TestNetwork> network(std::uint32_t nodes, TransportOptions options = quick()) {
    return make_test_network(GetParam(), nodes, options);
  }
};

TEST_P(TransportTest, MessagesOfAnyLengthArriveWholeAndInOrder) {
  const auto net = network(2);
  auto a = net->start(0), b = net->start(1);
  const std::vector<std::size_t> sizes = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 5'000'000};
  for (std::size_t size : sizes) ASSERT_TRUE(a->send(1, random_message(size)));
  for (std::size_t size : sizes) {
    const std::optional<Incoming> incoming = await_message(*b);
    ASSERT_TRUE(incoming);
    EXPECT_EQ(incoming->from, 0u);
    EXPECT_EQ(incoming->bytes, *random_message(size));
  }
  EXPECT_EQ(b->refusals(), WordCounts{});
  EXPECT_EQ(a->refusals(), WordCounts{});
}

TEST_P(TransportTest, EveryoneHearsEveryone) {
  constexpr std::uint32_t kNodes = 5;
  const auto net = network(kNodes);
  std::vector<std::unique_ptr<Transport>> nodes;
  for (NodeId id = 0; id < kNodes; ++id) nodes.push_back(net->start(id));
  for (NodeId from = 0; from < kNodes; ++from)
    for (NodeId to = 0; to < kNodes; ++to)
      if (to != from) nodes[from]->send(to, random_message(1000 * from + to));
  for (NodeId to = 0; to < kNodes; ++to) {
    std::set<NodeId> heard;
    while (heard.size() < kNodes - 1) {
      const std::optional<Incoming> incoming = await_message(*nodes[to]);
      ASSERT_TRUE(incoming);
      EXPECT_EQ(incoming->bytes, *random_message(1000 * incoming->from + to));
      heard.insert(incoming->from);
    }
  }
}

TEST_P(TransportTest, APeerThatComesLateGetsWhatWaited) {
  const auto net = network(2);
  auto a = net->start(0);
  a->send(1, random_message(3'000'000));
  EXPECT_TRUE(await([&] { return a->peer(1).reason.starts_with("cannot reach"); }));
  EXPECT_EQ(a->peer(1).condition, PeerCondition::kConnecting);
  auto b = net->start(1);
  const std::optional<Incoming> incoming = await_message(*b);
  ASSERT_TRUE(incoming);
  EXPECT_EQ(incoming->bytes, *random_message(3'000'000));
  EXPECT_TRUE(await([&] { return a->peer(1).alive() && a->peer(1).out.messages == 1; }));
}

TEST_P(TransportTest, GoodbyeIsToldAndADeathIsNoticed) {
  const auto net = network(3);
  auto a = net->start(0), b = net->start(1), c = net->start(2);
  ASSERT_TRUE(await([&] { return a->peer(1).alive() && a->peer(2).alive(); }));
  b->send(0, random_message(2'000'000));
  b->close();
  ASSERT_TRUE(await([&] { return a->peer(1).condition == PeerCondition::kGone; }));
  EXPECT_EQ(await_message(*a)->bytes, *random_message(2'000'000));  // Sent before it left.
  c.reset();                                                        // Without a word.
  ASSERT_TRUE(await([&] { return !a->peer(2).alive(); }));
  EXPECT_EQ(a->peer(2).condition, PeerCondition::kLost);
  EXPECT_NE(a->peer(2).reason, "");
}

TEST_P(TransportTest, APeerThatRestartsIsTakenBack) {
  const auto net = network(2);
  auto a = net->start(0), b = net->start(1);
  a->send(1, random_message(10));
  ASSERT_TRUE(await_message(*b));
  // What it has not confirmed it is told again, in its next life.
  ASSERT_TRUE(await([&] { return a->peer(1).out.messages == 1; }));
  b.reset();
  ASSERT_TRUE(await([&] { return !a->peer(1).alive(); }));
  a->send(1, random_message(20));
  b = net->start(1);
  b->send(0, random_message(30));
  EXPECT_EQ(await_message(*b)->bytes, *random_message(20));
  EXPECT_EQ(await_message(*a)->bytes, *random_message(30));
  EXPECT_TRUE(await([&] { return a->peer(1).alive() && a->peer(1).connections == 2; }));
}

TEST_P(TransportTest, ReceiveReturnsWhenWokenOrWhenAPeerChanges) {
  const auto net = network(2);
  auto a = net->start(0);
  a->wake();
  EXPECT_FALSE(a->receive(1h));
  auto b = net->start(1);
  while (!a->peer(1).alive()) EXPECT_FALSE(a->receive(1h));
  const std::vector<PeerState> changes = a->take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, 1u);
  EXPECT_TRUE(changes[0].alive());
}

// The peer holds 4 MiB at most and nobody takes anything: whatever the sender tries, no more than
// that, one queue and one message are anywhere in memory.
TEST_P(TransportTest, APeerThatNeverReadsFillsItsQueueAndNoMore) {
  TransportOptions options = quick();
  options.message_bytes_max = 3 << 20;
  options.held_bytes_extra = 1 << 20;
  options.queue_bytes_max = 8 << 20;
  options.chunk_bytes_max = 16 << 10;
  const auto net = network(3, options);
  auto a = net->start(0), b = net->start(1), c = net->start(2);
  const auto message = random_message(100'000);
  std::size_t accepted = 0;
  const auto top_up = [&] {
    while (a->send(1, message)) ++accepted;
  };
  // No message is begun any more once the peer has no room for its first chunk.
  const std::size_t no_room = options.held_bytes_max() - options.chunk_bytes_max - kChunkCharge;
  ASSERT_TRUE(await([&] {
    top_up();
    return b->peer(0).in.held_bytes > no_room && a->peer(1).out.unconfirmed_bytes == 0;
  }));
  top_up();
  const std::uint64_t before = a->peer(1).out.turned_away;
  EXPECT_FALSE(a->send(1, message));
  EXPECT_EQ(a->peer(1).out.turned_away, before + 1);
  EXPECT_LE(b->peer(0).in.held_bytes, 4u << 20);
  EXPECT_LE(a->peer(1).out.queued_bytes, options.queue_bytes_max + message->size() + 64);
  EXPECT_EQ(b->refusals(), WordCounts{});
  // It does not keep others waiting.
  a->send(2, message);
  EXPECT_EQ(await_message(*c)->bytes, *message);
  // Once it reads, everything that was accepted comes.
  for (std::size_t i = 0; i < accepted; ++i) ASSERT_TRUE(await_message(*b)) << i;
}

TEST_P(TransportTest, TheNewestWinsWhereThatIsThePolicy) {
  TransportOptions options = quick();
  options.policy = QueuePolicy::kNewestWins;
  options.queue_bytes_max = 10'000;
  const auto net = network(2, options);
  auto a = net->start(0);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_TRUE(a->send(1, random_message(1000 + i)));
  EXPECT_LE(a->peer(1).out.queued_bytes, options.queue_bytes_max);
  EXPECT_EQ(a->peer(1).out.superseded, 92u);
  auto b = net->start(1);
  for (std::size_t i = 92; i < 100; ++i)
    EXPECT_EQ(await_message(*b)->bytes, *random_message(1000 + i));
  a->drop_unsent();
}

TEST_P(TransportTest, WhatIsNotOnTheWireCanBeForgotten) {
  const auto net = network(2);
  auto a = net->start(0);
  for (int i = 0; i < 5; ++i) a->send(1, random_message(1000));
  a->drop_unsent();
  EXPECT_EQ(a->peer(1).out.queued_bytes, 0u);
  EXPECT_EQ(a->peer(1).out.superseded, 5u);
  a->send(1, random_message(7));
  auto b = net->start(1);
  EXPECT_EQ(await_message(*b)->bytes, *random_message(7));
}

TEST_P(TransportTest, WhoLearnsSomethingElseIsRefusedAndBothSidesSayInWhat) {
  const auto net = network(2);
  TransportOptions cats = quick(), dogs = quick();
  cats.agreement.add("classes", "cat/dog");
  dogs.agreement.add("classes", "dog/cat");
  auto a = net->start(0, cats);
  auto b = net->start(1, dogs);
  a->send(1, random_message(10));
  b->send(0, random_message(10));
  EXPECT_TRUE(await([&] { return a->peer(1).disagrees && b->peer(0).disagrees; }));
  EXPECT_EQ(a->peer(1).reason, "we differ in classes: here cat/dog, there dog/cat");
  EXPECT_EQ(b->peer(0).reason, "we differ in classes: here dog/cat, there cat/dog");
  EXPECT_EQ(a->peer(1).condition, PeerCondition::kRefused);
  EXPECT_EQ(a->peer(1).in.messages + b->peer(0).in.messages, 0u);
}

TEST_P(TransportTest, AnotherRunOrModelIsRefusedOnBothSides) {
  const auto net = network(3);
  auto a = net->start(0);
  TransportOptions other_run = quick();
  other_run.run = 999;
  auto b = net->start(1, other_run);
  TransportOptions other_model = quick();
  other_model.dimension = 7;
  auto c = net->start(2, other_model);
  a->send(1, random_message(10));
  b->send(0, random_message(10));
  EXPECT_TRUE(await([&] {
    const WordCounts refusals = a->refusals();
    return refusals.contains("run") && refusals.contains("dimension") &&
           b->refusals().contains("run");
  }));
  EXPECT_TRUE(await([&] { return a->peer(1).condition == PeerCondition::kRefused; }));
  EXPECT_TRUE(await([&] { return a->peer(2).condition == PeerCondition::kRefused; }));
  EXPECT_NE(a->peer(1).reason.find("another run"), std::string::npos) << a->peer(1).reason;
  EXPECT_NE(a->peer(2).reason.find("another dimension"), std::string::npos);
  EXPECT_EQ(a->peer(1).in.messages, 0u);
}

TEST_P(TransportTest, AMemberAddedLateJoinsAndARemovedOneIsShutOut) {
  const auto net = network(3);
  const std::vector<Member>& all = net->members();
  const std::vector<Member> two(all.begin(), all.begin() + 2);
  auto a = net->start(0), b = net->start(1);
  a->set_members(two);
  b->set_members(two);
  ASSERT_TRUE(await([&] { return a->peers().size() == 1 && a->peer(1).alive(); }));
  EXPECT_FALSE(a->send(2, random_message(1)));
  auto c = net->start(2);
  c->send(0, random_message(5));
  a->set_members(all);
  EXPECT_EQ(await_message(*a)->bytes, *random_message(5));
  ASSERT_TRUE(await([&] { return a->peer(2).alive(); }));
  a->set_members(two);
  EXPECT_EQ(a->peers().size(), 1u);
  c->send(0, random_message(6));
  EXPECT_TRUE(await([&] {
    const WordCounts refusals = a->refusals();
    return refusals.contains("not-a-member") || refusals.contains("unknown-key");
  }));
}

// Its process goes on, and has had chunks of us; the link that is made anew begins with the first.
TEST_P(TransportTest, AMemberThatComesBackIntoTheRosterIsHeardAndHears) {
  const auto net = network(2);
  const std::vector<Member>& all = net->members();
  auto a = net->start(0), b = net->start(1);
  for (const std::size_t size : {5, 6, 7}) {
    ASSERT_TRUE(a->send(1, random_message(size)));
    ASSERT_TRUE(b->send(0, random_message(size)));
    EXPECT_EQ(await_message(*b)->bytes, *random_message(size));
    EXPECT_EQ(await_message(*a)->bytes, *random_message(size));
    // What is not confirmed yet is told again to a peer that has forgotten it.
    ASSERT_TRUE(await([&] { return b->peer(0).out.unconfirmed_bytes == 0; }));
    a->set_members(std::vector<Member>{all[0]});
    a->set_members(all);
  }
}

TEST_P(TransportTest, ClosingIsBoundedHoweverMuchIsQueued) {
  TransportOptions options = quick();
  options.linger = 200ms;
  options.message_bytes_max = 1 << 20;
  options.held_bytes_extra = 1 << 20;
  const auto net = network(3, options);  // Node 2 never starts; node 1 never reads.
  auto a = net->start(0), b = net->start(1);
  for (int i = 0; i < 30; ++i) a->send(1, random_message(1'000'000));
  for (int i = 0; i < 30; ++i) a->send(2, random_message(1'000'000));
  ASSERT_TRUE(await([&] { return a->peer(1).alive(); }));
  const Instant before = b->now();
  a->close();
  EXPECT_LT(b->now() - before, 5s);
  EXPECT_FALSE(a->send(1, random_message(1)));
}

INSTANTIATE_TEST_SUITE_P(Carriers, TransportTest, testing::Values("loopback", "zeromq"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tessera
