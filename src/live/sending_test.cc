// Messages on their way to the transport: node 0 sends to node 1 over memory.
#include "live/sending.h"

#include <gtest/gtest.h>

#include "live/link/testing.h"

namespace tessera {
namespace {

Payload payload_of(std::size_t size) {
  return {std::make_shared<const Letter>(*random_message(size)), size / 2};
}

class SendingTest : public testing::Test {
 protected:
  void start(const TransportOptions& options = quick()) {
    network_ = make_test_network("loopback", 3, options);
    own_ = network_->start(0);
    peer_ = network_->start(1);
    ASSERT_TRUE(await([&] { return own_->peer(1).alive(); }));
  }
  Sending make(SendingOptions options = {}) {
    Sending sending(*own_, options, [this](std::string_view line) { said_ = line; });
    sending.look_at_links();
    return sending;
  }

  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<Transport> own_, peer_;
  std::string said_;
};

TEST_F(SendingTest, CountsWhatWasHandedOverAndWhatHasLeft) {
  start();
  Sending sending = make();
  for (int i = 0; i < 3; ++i) sending.send(1, payload_of(100));
  sending.send(2, payload_of(1000));  // Not there: it is handed over and does not leave.
  sending.send(7, payload_of(100));   // Not in the roster.
  EXPECT_EQ(sending.handed_over().messages, 4u);
  EXPECT_EQ(sending.handed_over().bytes, 1300u);
  EXPECT_EQ(sending.handed_over().value_bytes, 650u);
  EXPECT_TRUE(await([&] { return sending.gone_out().messages == 3; }));
  EXPECT_EQ(sending.gone_out().bytes, 300u);
  EXPECT_LE(sending.gone_out().value_bytes, 150u);
}

// Queue and peer have room for a few messages of 900 bytes, and the peer takes none at first.
TEST_F(SendingTest, WhatAFullQueueTurnsAwayIsHeldAndFollowsInOrder) {
  TransportOptions options = quick();
  options.queue_bytes_max = options.message_bytes_max = options.held_bytes_extra = 1000;
  start(options);
  Sending sending = make();
  std::size_t sent = 0;
  while (!sending.holds_any()) sending.send(1, payload_of(900 + sent++));
  sending.send(1, payload_of(900 + sent++));  // Behind the one that is held.
  for (std::size_t i = 0; i < sent; ++i) {
    std::optional<Incoming> incoming;
    ASSERT_TRUE(await([&] {
      sending.retry_held();
      return (incoming = peer_->receive(Duration::zero())).has_value();
    }));
    EXPECT_EQ(incoming->bytes, *random_message(900 + i));
  }
  EXPECT_FALSE(sending.holds_any());
}

TEST_F(SendingTest, APeerThatTakesNothingIsToldTheNewestOnly) {
  TransportOptions options = quick();
  options.queue_bytes_max = options.message_bytes_max = options.held_bytes_extra = 1000;
  start(options);
  Sending sending = make({.stalled_max = std::chrono::milliseconds(50)});
  EXPECT_TRUE(await([&] {
    sending.send(1, payload_of(900));
    return !said_.empty();
  }));
  EXPECT_NE(said_.find("node-1 has taken nothing for"), std::string::npos) << said_;
  sending.send(1, payload_of(900));
  EXPECT_FALSE(sending.holds_any());
}

// As under a protocol with patience, of 20 ms here: a peer that is alive and reads nothing holds
// nothing up, and what waits for it is not older than that.
TEST_F(SendingTest, WithPatienceASlowPeerHoldsNothingUp) {
  TransportOptions options = quick();
  options.policy = QueuePolicy::kNewestWins;
  options.unsent_age_max = std::chrono::milliseconds(20);
  options.queue_bytes_max = 1 << 20;
  options.message_bytes_max = options.held_bytes_extra = 1000;
  start(options);
  Sending sending = make();
  for (int i = 0; i < 100; ++i) {
    sending.send(1, payload_of(900));
    ASSERT_FALSE(sending.holds_any());
  }
  const Instant said = own_->now();
  ASSERT_TRUE(await([&] { return own_->now() - said > std::chrono::milliseconds(25); }));
  sending.send(1, payload_of(901));
  EXPECT_EQ(own_->peer(1).out.queued, 1u);
  EXPECT_EQ(said_, "");
}

TEST_F(SendingTest, WhatIsTakenBackIsNotHeldEither) {
  TransportOptions options = quick();
  options.queue_bytes_max = options.message_bytes_max = options.held_bytes_extra = 1000;
  start(options);
  Sending sending = make();
  while (!sending.holds_any()) sending.send(1, payload_of(900));
  sending.drop_unsent();
  EXPECT_FALSE(sending.holds_any());
  EXPECT_EQ(own_->peer(1).out.queued, 0u);
}

TEST_F(SendingTest, TheLastMessagesSurviveARestartAndAreToldAgain) {
  start();
  Bytes state;
  {
    Sending sending = make({.retold_max = 2});
    for (std::size_t size : {100, 200, 300}) sending.send(1, payload_of(size));
    save_fields(sending, state);
  }
  for (std::size_t size : {100, 200, 300})
    EXPECT_EQ(await_message(*peer_)->bytes, *random_message(size));
  Sending again = make({.retold_max = 2});
  ByteReader in(state);
  ASSERT_TRUE(load_fields(again, in).ok());
  EXPECT_EQ(again.handed_over().bytes, 600u);
  again.tell_all_again();
  for (std::size_t size : {200, 300})
    EXPECT_EQ(await_message(*peer_)->bytes, *random_message(size));
  EXPECT_EQ(again.handed_over().bytes,
            600u);  // Told again is not counted again.
}

TEST_F(SendingTest, AMessageToManyIsSavedOnce) {
  start();
  Sending one = make({.retold_max = 1}), many = make({.retold_max = 1});
  const Payload payload = payload_of(10'000);
  one.send(1, payload);
  for (const NodeId to : {1u, 2u}) many.send(to, payload);
  Bytes of_one, of_many;
  save_fields(one, of_one);
  save_fields(many, of_many);
  EXPECT_LT(of_many.size(), of_one.size() + 100);
}

}  // namespace
}  // namespace tessera
