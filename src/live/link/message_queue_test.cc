// A peer that reads nothing: whatever is queued for it, each class of messages has its own bound.
#include "live/link/message_queue.h"

#include <gtest/gtest.h>

#include "live/link/frame.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const Bytes> message_of(std::size_t size) {
  return std::make_shared<const Bytes>(size);
}
MessageQueue::Entry ordinary(std::size_t size, Duration at = {}) {
  return {message_of(size), MessageClass::kOrdinary, Instant{} + at};
}

// 5,000 questions make 5,000 offers of 1,000 bytes: one is kept, the newest. So with rosters.
TEST(MessageQueue, OneOfferAndOneRosterWait) {
  for (const MessageClass what : {MessageClass::kOffer, MessageClass::kRoster}) {
    MessageQueue queue({.bytes_max = 10'000});
    queue.push(ordinary(7));
    for (std::size_t i = 0; i < 5000; ++i) {
      EXPECT_TRUE(queue.push({message_of(1000 + i % 10), what}));
      if (i == 0) queue.push(ordinary(8));
    }
    ASSERT_EQ(queue.size(), 3u);
    EXPECT_EQ(queue.bytes(), 7u + 1009 + 8);
    for (const std::size_t size : {7, 1009, 8}) EXPECT_EQ(queue.pop().message->size(), size);
    EXPECT_EQ(queue.bytes(), 0u);
  }
}

TEST(MessageQueue, OfSmallWordsTheNewestWait) {
  MessageQueue queue({.bytes_max = 10'000});
  for (std::size_t i = 0; i < 5000; ++i)
    EXPECT_TRUE(queue.push({message_of(i), MessageClass::kControl}));
  EXPECT_EQ(queue.size(), kControlsWaitingMax);
  EXPECT_EQ(queue.front().message->size(), 5000 - kControlsWaitingMax);
}

// Offers and words take no room from what the node says, under either policy.
TEST(MessageQueue, ControlTakesNoRoomFromOrdinaryMessages) {
  for (const QueuePolicy policy : {QueuePolicy::kBackPressure, QueuePolicy::kNewestWins}) {
    MessageQueue queue({.policy = policy, .bytes_max = 1000});
    queue.push({message_of(5000), MessageClass::kOffer});
    queue.push({message_of(5000), MessageClass::kControl});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(ordinary(200)));
    EXPECT_EQ(queue.size(), 5u);
    EXPECT_EQ(queue.superseded(), 0u);
    queue.drop_ordinary();
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue.superseded(), 3u);
  }
}

// With an age of two seconds, what was said at 0, 1, 2 and 3 s: at 3 s the first has had its time.
TEST(MessageQueue, WhatHasWaitedTooLongMakesRoomForTheNewer) {
  MessageQueue queue({.policy = QueuePolicy::kNewestWins, .bytes_max = 10'000, .age_max = 2s});
  for (const int second : {0, 1, 2, 3})
    EXPECT_TRUE(queue.push(ordinary(10 + static_cast<std::size_t>(second), second * 1s)));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.front().message->size(), 11u);
  EXPECT_EQ(queue.superseded(), 1u);
  queue.push({message_of(1), MessageClass::kControl, Instant{} + 3s});
  queue.push(ordinary(20, 60s));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.bytes(), 21u);
}

}  // namespace
}  // namespace tessera
