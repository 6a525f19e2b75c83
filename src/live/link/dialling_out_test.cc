// A member that nobody can connect to: node 0 dials out, and both directions of its links travel on
// the connections it makes. Over both carriers; with ZeroMQ it listens nowhere.
#include <gtest/gtest.h>

#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

class DiallingOutTest : public testing::TestWithParam<std::string_view> {
 protected:
  void make(std::uint32_t nodes, const TransportOptions& options = quick()) {
    network_ = make_test_network(GetParam(), nodes, options);
    network_->dial_out(0);
    nodes_.resize(nodes);
  }
  void start_all() {
    for (NodeId id = 0; id < nodes_.size(); ++id) nodes_[id] = network_->start(id);
  }
  void expect_message(NodeId at, NodeId from, std::size_t size) {
    const std::optional<Incoming> incoming = await_message(*nodes_[at]);
    ASSERT_TRUE(incoming);
    EXPECT_EQ(incoming->from, from);
    EXPECT_EQ(incoming->bytes, *random_message(size));
  }
  bool await_condition(NodeId by, NodeId peer, PeerCondition condition) const {
    return await([&] { return nodes_[by]->peer(peer).condition == condition; });
  }

  std::unique_ptr<TestNetwork> network_;
  std::vector<std::unique_ptr<Transport>> nodes_;
};

TEST_P(DiallingOutTest, MessagesOfAnyLengthArriveBothWaysWholeAndInOrder) {
  make(3);
  start_all();
  const std::vector<std::size_t> sizes = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 5'000'000};
  for (const std::size_t size : sizes) {
    ASSERT_TRUE(nodes_[1]->send(0, random_message(size)));
    ASSERT_TRUE(nodes_[0]->send(1, random_message(size + 7)));
  }
  for (const std::size_t size : sizes) {
    expect_message(0, 1, size);
    expect_message(1, 0, size + 7);
  }
  ASSERT_TRUE(nodes_[2]->send(0, random_message(3)));
  expect_message(0, 2, 3);
  for (const auto& node : nodes_) EXPECT_EQ(node->refusals(), WordCounts{});
}

TEST_P(DiallingOutTest, WhatWasSentBeforeItCameWaits) {
  make(2);
  nodes_[1] = network_->start(1);
  ASSERT_TRUE(nodes_[1]->send(0, random_message(2'000'000)));
  EXPECT_EQ(nodes_[1]->peer(0).condition, PeerCondition::kConnecting);
  nodes_[0] = network_->start(0);
  expect_message(0, 1, 2'000'000);
}

// Each of the two in turn, while the other has something for it.
TEST_P(DiallingOutTest, LinksAreMadeAgainWhoeverIsStartedAnew) {
  make(2);
  start_all();
  for (const NodeId anew : {0u, 1u, 0u, 1u}) {
    const NodeId other = 1 - anew;
    EXPECT_TRUE(await_condition(other, anew, PeerCondition::kAlive));
    const std::uint64_t before = nodes_[other]->peer(anew).connections;
    nodes_[anew].reset();
    nodes_[anew] = network_->start(anew);
    EXPECT_TRUE(await([&] { return nodes_[other]->peer(anew).connections > before; }));
    ASSERT_TRUE(nodes_[other]->send(anew, random_message(100 + anew)));
    expect_message(anew, other, 100 + anew);
    ASSERT_TRUE(nodes_[anew]->send(other, random_message(200 + anew)));
    expect_message(other, anew, 200 + anew);
    // Who dies before it confirmed a message is told it again in its next life.
    EXPECT_TRUE(await([&] { return nodes_[anew]->peer(other).out.unconfirmed_bytes == 0; }));
  }
}

TEST_P(DiallingOutTest, GoodbyesAreToldBothWaysAndWhoLeftIsDialledAgain) {
  make(2);
  start_all();
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kAlive));
  ASSERT_TRUE(nodes_[1]->send(0, random_message(10)));
  nodes_[1]->close();
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kGone));
  expect_message(0, 1, 10);
  nodes_[1].reset();
  nodes_[1] = network_->start(1);
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kAlive));
  EXPECT_TRUE(await_condition(1, 0, PeerCondition::kAlive));
  nodes_[0]->close();
  EXPECT_TRUE(await_condition(1, 0, PeerCondition::kGone));
}

TEST_P(DiallingOutTest, ItIsMissedWhenItDies) {
  make(2);
  start_all();
  ASSERT_TRUE(nodes_[1]->send(0, random_message(1)));
  expect_message(0, 1, 1);
  nodes_[0].reset();
  EXPECT_TRUE(await_condition(1, 0, PeerCondition::kLost));
}

// What the others tell it seldom rests, and its own connection stays.
TEST_P(DiallingOutTest, ItsLinksAreKeptWhateverIsWanted) {
  TransportOptions options = quick();
  options.wants_all = false;
  options.unused_max = 1ms;
  make(2, options);
  start_all();
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(nodes_[1]->send(0, random_message(i)));
    expect_message(0, 1, i);
  }
  EXPECT_TRUE(nodes_[0]->peer(1).alive());
  EXPECT_TRUE(nodes_[1]->peer(0).alive());
  EXPECT_EQ(nodes_[1]->peer(0).connections, 1u);
  for (const auto& node : nodes_) EXPECT_EQ(node->refusals(), WordCounts{});
}

TEST_P(DiallingOutTest, TwoOfThemHaveNoLinkAndNeitherIsMissed) {
  make(3);
  network_->dial_out(1);
  start_all();
  for (const NodeId id : {0u, 1u}) EXPECT_TRUE(await_condition(id, 2, PeerCondition::kAlive));
  EXPECT_EQ(nodes_[0]->peer(1).condition, PeerCondition::kIdle);
  EXPECT_FALSE(nodes_[0]->peer(1).wanted);
}

INSTANTIATE_TEST_SUITE_P(Carriers, DiallingOutTest, testing::Values("loopback", "zeromq"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tessera
