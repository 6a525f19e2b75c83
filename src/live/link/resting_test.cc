// Links that are made for what is sent and hung up when they are no longer used, over both
// carriers: nobody is missed for it and nothing is lost. A link rests 50 ms after it was last used.
#include <gtest/gtest.h>

#include <algorithm>

#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

TransportOptions resting() {
  TransportOptions options = quick();
  options.wants_all = false;
  options.unused_max = 50ms;
  return options;
}

class RestingTest : public testing::TestWithParam<std::string_view> {
 protected:
  void start(std::uint32_t nodes, const TransportOptions& options = resting()) {
    network_ = make_test_network(GetParam(), nodes, options);
    for (NodeId id = 0; id < nodes; ++id) nodes_.push_back(network_->start(id));
  }
  void expect_message(NodeId at, NodeId from, std::size_t size) {
    const std::optional<Incoming> incoming = await_message(*nodes_[at]);
    ASSERT_TRUE(incoming);
    EXPECT_EQ(incoming->from, from);
    EXPECT_EQ(incoming->bytes, *random_message(size));
  }
  PeerState seen(NodeId by, NodeId peer) const { return nodes_[by]->peer(peer); }
  bool await_condition(NodeId by, NodeId peer, PeerCondition condition) const {
    return await([&] { return seen(by, peer).condition == condition; });
  }

  std::unique_ptr<TestNetwork> network_;
  std::vector<std::unique_ptr<Transport>> nodes_;
};

TEST_P(RestingTest, ALinkIsMadeForWhatIsSentAndRestsAfterwards) {
  start(3);
  for (NodeId peer : {1u, 2u}) EXPECT_EQ(seen(0, peer).condition, PeerCondition::kIdle);
  for (std::size_t size : {100u, 200u, 3'000'000u}) {
    ASSERT_TRUE(nodes_[0]->send(1, random_message(size)));
    expect_message(1, 0, size);
    EXPECT_TRUE(await_condition(0, 1, PeerCondition::kIdle));
    EXPECT_TRUE(await_condition(1, 0, PeerCondition::kIdle));
  }
  EXPECT_EQ(seen(0, 1).connections, 1u);  // A rest is no break.
  EXPECT_EQ(seen(0, 1).out.messages, 3u);
  EXPECT_EQ(seen(0, 2).out.bytes + seen(0, 2).in.bytes, 0u);
  EXPECT_EQ(seen(1, 2).condition, PeerCondition::kIdle);
  for (const auto& node : nodes_) EXPECT_EQ(node->refusals(), WordCounts{});
}

// Now and then the sender waits for the rest, and now and then it goes on in the middle of it.
TEST_P(RestingTest, NothingIsLostHoweverOftenALinkRests) {
  TransportOptions options = resting();
  options.unused_max = 1ms;
  start(2, options);
  for (std::size_t i = 0; i < 60; ++i) {
    const NodeId from = i % 3 == 0 ? 1 : 0;
    ASSERT_TRUE(nodes_[from]->send(1 - from, random_message(1000 + i)));
    expect_message(1 - from, from, 1000 + i);
    if (i % 10 == 9) {
      EXPECT_TRUE(await_condition(0, 1, PeerCondition::kIdle));
    }
  }
  for (const auto& node : nodes_) EXPECT_EQ(node->refusals(), WordCounts{});
}

TEST_P(RestingTest, AWantedLinkIsKeptAndOneThatIsNoLongerWantedRests) {
  start(3);
  nodes_[0]->want(std::vector<NodeId>{1});
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kAlive));
  ASSERT_TRUE(nodes_[0]->send(2, random_message(10)));
  expect_message(2, 0, 10);
  EXPECT_TRUE(await_condition(0, 2, PeerCondition::kIdle));
  EXPECT_TRUE(seen(0, 1).alive());  // Used less than the other.
  EXPECT_TRUE(seen(1, 0).alive());
  nodes_[0]->want({});
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kIdle));
  EXPECT_TRUE(await_condition(1, 0, PeerCondition::kIdle));
}

TEST_P(RestingTest, OfManyUnwantedLinksTheOneUsedLongestAgoRests) {
  TransportOptions options = resting();
  options.unused_max = 1h;
  options.unwanted_links_max = 2;
  start(5, options);
  for (NodeId peer : {1u, 2u, 3u, 4u}) {
    ASSERT_TRUE(nodes_[0]->send(peer, random_message(peer)));
    expect_message(peer, 0, peer);
  }
  for (NodeId peer : {1u, 2u}) EXPECT_TRUE(await_condition(0, peer, PeerCondition::kIdle));
  for (NodeId peer : {3u, 4u}) EXPECT_TRUE(seen(0, peer).alive());
}

// The peer would otherwise wait for what was told to its former life.
TEST_P(RestingTest, APeerThatWasStartedAnewMeanwhileIsLinkedAnew) {
  start(2);
  for (NodeId from : {0u, 1u}) {
    ASSERT_TRUE(nodes_[from]->send(1 - from, random_message(7)));
    expect_message(1 - from, from, 7);
  }
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kIdle));
  EXPECT_EQ(seen(0, 1).connections, 1u);
  nodes_[1].reset();
  nodes_[1] = network_->start(1);
  ASSERT_TRUE(nodes_[1]->send(0, random_message(8)));
  expect_message(0, 1, 8);
  EXPECT_TRUE(await([&] { return seen(0, 1).connections == 2; }));
}

TEST_P(RestingTest, OneThatCannotBeReachedIsLostAndGetsItLater) {
  network_ = make_test_network(GetParam(), 2, resting());
  nodes_.push_back(network_->start(0));
  ASSERT_TRUE(nodes_[0]->send(1, random_message(9)));
  EXPECT_TRUE(await_condition(0, 1, PeerCondition::kLost));
  nodes_.push_back(network_->start(1));
  expect_message(1, 0, 9);
}

TEST_P(RestingTest, WhoLeavesStillTellsAnIdlePeerWhatIsQueued) {
  start(2);
  ASSERT_TRUE(nodes_[0]->send(1, random_message(2'000'000)));
  nodes_[0]->close();
  expect_message(1, 0, 2'000'000);
  EXPECT_TRUE(await_condition(1, 0, PeerCondition::kGone));
}

INSTANTIATE_TEST_SUITE_P(Carriers, RestingTest, testing::Values("loopback", "zeromq"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tessera
