#include "live/link/answers.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Inbox::Limits kLimits{.message_bytes_max = 1000, .held_bytes_max = 4000};

Instant at_s(int s) {
  return Instant(std::chrono::seconds(s));
}

Answers make_answers() {
  return Answers(kLimits, std::chrono::seconds(10));
}

Bytes message(std::size_t size) {
  return Bytes(size, std::byte{7});
}

// A message of one chunk.
Chunk whole(std::uint64_t number, const Bytes& bytes) {
  return {.number = number, .total = bytes.size(), .offset = 0, .payload = bytes};
}

TEST(Answers, WelcomeAHelloOnItsOwnRoute) {
  Answers answers = make_answers();
  EXPECT_FALSE(answers.owed());
  EXPECT_FALSE(answers.next().has_value());
  const Answers::Greeted greeted = answers.welcome("a", {.session = 5, .oldest = 3});
  EXPECT_FALSE(greeted.restarted);
  EXPECT_TRUE(answers.counts("a"));
  EXPECT_FALSE(answers.counts("b"));
  ASSERT_TRUE(answers.owed());
  const std::optional<Answer> answer = answers.next();
  EXPECT_EQ(answer->route, "a");
  EXPECT_EQ(std::get<Welcome>(answer->frame), (Welcome{.session = 5, .next = 3, .window = 4000}));
  EXPECT_FALSE(answers.owed());
}

TEST(Answers, TheConnectionThatSaidHelloLastCounts) {
  Answers answers = make_answers();
  answers.welcome("a", {.session = 5});
  EXPECT_FALSE(answers.welcome("b", {.session = 5}).restarted);  // The same life.
  EXPECT_TRUE(answers.counts("b"));
  EXPECT_EQ(answers.next()->route, "b");
}

TEST(Answers, ARestartedPeerLosesWhatNobodyTook) {
  Answers answers = make_answers();
  answers.welcome("a", {.session = 5});
  EXPECT_EQ(answers.add(at_s(1), whole(1, message(2))), "");
  EXPECT_FALSE(answers.was_replaced(5));
  const Answers::Greeted greeted = answers.welcome("a", {.session = 6});
  EXPECT_TRUE(greeted.restarted);
  EXPECT_EQ(greeted.messages_lost, 1u);
  EXPECT_TRUE(answers.was_replaced(5));
  EXPECT_FALSE(answers.was_replaced(6));
  EXPECT_FALSE(answers.take().has_value());
}

TEST(Answers, RememberAFewFormerLives) {
  Answers answers = make_answers();
  for (std::uint64_t session = 1; session <= 10; ++session)
    answers.welcome("a", {.session = session});
  EXPECT_FALSE(answers.was_replaced(1));  // Nine came before; eight are remembered.
  EXPECT_TRUE(answers.was_replaced(2));
  EXPECT_TRUE(answers.was_replaced(9));
}

TEST(Answers, AnAckSaysWhatCameAndWhatWasTaken) {
  Answers answers = make_answers();
  answers.owe_ack();
  EXPECT_FALSE(answers.next().has_value());  // There is no connection to answer on.
  answers.welcome("a", {.session = 5});
  (void)answers.next();
  (void)answers.next();
  EXPECT_EQ(answers.add(at_s(2), whole(1, message(2))), "");
  EXPECT_EQ(answers.add(at_s(3), whole(2, message(1))), "");
  EXPECT_EQ(answers.messages(), 2u);
  EXPECT_EQ(answers.take(), message(2));
  const std::optional<Answer> answer = answers.next();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::get<Ack>(answer->frame),
            (Ack{.session = 5, .received = 2, .released = 1, .at = 3'000'000'000}));
  EXPECT_FALSE(answers.owed());
}

// An eighth of a window of 4000 bytes is told of; a message of 100 counts 164.
TEST(Answers, TellOfAWindowThatMoves) {
  Answers answers = make_answers();
  answers.welcome("a", {.session = 5});
  const Bytes bytes = message(100);
  for (std::uint64_t number = 1; number <= 4; ++number)
    EXPECT_EQ(answers.add(at_s(1), whole(number, bytes)), "");
  while (answers.next()) continue;
  for (int taken = 1; taken <= 3; ++taken) {
    EXPECT_TRUE(answers.take().has_value());
    EXPECT_FALSE(answers.owed()) << taken;
  }
  EXPECT_TRUE(answers.take().has_value());
  EXPECT_TRUE(answers.owed());
}

TEST(Answers, APeerThatLostItsPlaceIsToldOnceInAWhile) {
  Answers answers = make_answers();
  answers.welcome("a", {.session = 5});
  while (answers.next()) continue;
  const auto resyncs = [&](Instant now) {
    EXPECT_EQ(answers.add(now, whole(9, message(1))), "gap");
    std::vector<Frame> frames;
    while (const auto answer = answers.next()) frames.push_back(answer->frame);
    EXPECT_FALSE(frames.empty());  // An ack in any case.
    return std::holds_alternative<Welcome>(frames.front());
  };
  EXPECT_TRUE(resyncs(at_s(20)));
  EXPECT_FALSE(resyncs(at_s(21)));
  EXPECT_FALSE(resyncs(at_s(29)));
  EXPECT_TRUE(resyncs(at_s(30)));
  EXPECT_EQ(answers.messages(), 0u);
}

TEST(Answers, ARejectionGoesWhereTheHelloCameFrom) {
  Answers answers = make_answers();
  answers.welcome("a", {.session = 5});
  while (answers.next()) continue;
  answers.reject("b", {RejectReason::kTwin});
  const std::optional<Answer> answer = answers.next();
  EXPECT_EQ(answer->route, "b");
  EXPECT_EQ(std::get<Reject>(answer->frame).reason, RejectReason::kTwin);
  EXPECT_TRUE(answers.counts("a"));
}

}  // namespace
}  // namespace tessera
