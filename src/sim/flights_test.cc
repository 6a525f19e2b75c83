#include "sim/flights.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

Payload payload_of(std::size_t bytes, std::size_t value_bytes) {
  return {std::make_shared<const Letter>(Bytes(bytes)), value_bytes};
}

// 100 bytes from node 0 to node 1, sent at 1 s at age 3.
Flight hundred_bytes() {
  return {
      .from = 0, .to = 1, .payload = payload_of(100, 80), .sent_at = Instant(1s), .sender_age = 3};
}

TEST(Flights, CountWhatLands) {
  Flights flights(2);
  const MessageId id = flights.board(hundred_bytes());
  EXPECT_EQ(flights.find(id).to, 1u);
  EXPECT_EQ(flights.ledger().on_their_way, 100u);
  EXPECT_EQ(flights.land(id, Instant(3s), 5).size(), 100u);
  EXPECT_EQ(flights.counts(0).delivered.bytes, 100u);
  EXPECT_EQ(flights.counts(1).heard, 1u);
  EXPECT_EQ(flights.counts(1).staleness, 2u);
  EXPECT_EQ(flights.counts(1).delay, Duration(2s));
  EXPECT_EQ(flights.size(), 0u);
  EXPECT_TRUE(flights.ledger().balances());
}

// A sender that lost its memory is younger than its message: that is no staleness.
TEST(Flights, AreNotStaleWhenTheSenderIsYounger) {
  Flights flights(2);
  flights.land(flights.board(hundred_bytes()), Instant(3s), 1);
  EXPECT_EQ(flights.counts(1).staleness, 0u);
}

// Dropped when 25 of its 100 bytes had left: three quarters, of values too, are taken back.
TEST(Flights, CountWhatIsTakenBack) {
  Flights flights(2);
  flights.drop(flights.board(hundred_bytes()), 25);
  const MessageCounts& counts = flights.counts(0);
  EXPECT_EQ(counts.dropped_bytes, 100u);
  EXPECT_EQ(counts.taken_back.bytes, 75u);
  EXPECT_EQ(counts.taken_back.value_bytes, 60u);
  EXPECT_EQ(flights.sent(0, {}).bytes, 25u);
  EXPECT_TRUE(flights.ledger().balances());
}

TEST(Flights, LeaveOutWhatStillWaits) {
  Flights flights(2);
  flights.board(hundred_bytes());
  const Traffic sent = flights.sent(0, {.messages = 1, .bytes = 50});
  EXPECT_EQ(sent.messages, 0u);
  EXPECT_EQ(sent.bytes, 50u);
  EXPECT_EQ(sent.value_bytes, 40u);
}

TEST(Flights, CountACopyAsOffered) {
  Flights flights(2);
  const MessageId first = flights.board(hundred_bytes());
  const MessageId second = flights.copy(first);
  EXPECT_NE(first, second);
  EXPECT_EQ(flights.counts(0).offered.messages, 2u);
  EXPECT_EQ(flights.find(second).payload.letter, flights.find(first).payload.letter);
  EXPECT_TRUE(flights.ledger().balances());
}

// Places are used again; ids are not, and ascend.
TEST(Flights, NumberMessagesInTheOrderTheyBoard) {
  Flights flights(2);
  const MessageId first = flights.board(hundred_bytes());
  flights.drop(first, 100);
  const MessageId second = flights.board(hundred_bytes());
  EXPECT_LT(first, second);
  EXPECT_EQ(Flights::serial_of(first), 0u);
  EXPECT_EQ(Flights::serial_of(second), 1u);
  EXPECT_TRUE(flights.holds(second));
  EXPECT_FALSE(flights.holds(second + 1));
}

TEST(Flights, GoOnFromWhereTheyWereSaved) {
  Flights flights(2), loaded(2);
  const MessageId dropped = flights.board(hundred_bytes());
  const MessageId kept = flights.copy(dropped);
  const MessageId twin = flights.copy(dropped);
  flights.drop(dropped, 0);
  Bytes saved, again;
  save_fields(flights, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded, in).ok());
  EXPECT_EQ(loaded.find(kept).payload.letter, loaded.find(twin).payload.letter);  // Saved once.
  EXPECT_EQ(loaded.board(hundred_bytes()), flights.board(hundred_bytes()));
  save_fields(flights, saved = {});
  save_fields(loaded, again);
  EXPECT_EQ(saved, again);
}

TEST(Flights, RefuseANodeThatDoesNotExist) {
  Flights flights(2), fewer(1);
  flights.board(hundred_bytes());
  Bytes saved;
  save_fields(flights, saved);
  ByteReader in(saved);
  EXPECT_FALSE(load_fields(fewer, in).ok());
}

}  // namespace
}  // namespace tessera
