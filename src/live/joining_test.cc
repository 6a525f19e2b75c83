// Node 0 is new and asks nodes 1 and 2; node 3 is not there.
#include "live/joining.h"

#include <gtest/gtest.h>

#include <limits>

#include "live/link/testing.h"

namespace tessera {
namespace {

using Verdict = Joining::Verdict;

class JoiningTest : public testing::Test {
 protected:
  JoiningTest()
      : network_("loopback", 4, quick()),
        own_(network_.start(0)),
        one_(network_.start(1)),
        two_(network_.start(2)) {}

  void ask() {
    ASSERT_TRUE(await([&] { return own_->peer(1).alive() && own_->peer(2).alive(); }));
    joining_.ask();
    asked_one_ = nonce_heard_by(*one_);
    asked_two_ = nonce_heard_by(*two_);
  }
  static std::uint64_t nonce_heard_by(Transport& helper) {
    const std::optional<Incoming> question = await_message(helper);
    if (!question || !is_control(question->bytes)) return 0;
    return std::get<ModelRequest>(*decode_control(question->bytes, 2)).nonce;
  }
  Verdict judge(NodeId from, std::uint64_t nonce, Vector model, Round rounds = 5) {
    return joining_.judge(from, {.nonce = nonce, .rounds = rounds, .model = std::move(model)},
                          kOwn);
  }

  const Vector kOwn = {0.1f, 0.1f};
  TestNetwork network_;
  std::unique_ptr<Transport> own_, one_, two_;
  Joining joining_{*own_, {1, 2, 3}, 3};
  std::uint64_t asked_one_ = 0, asked_two_ = 0;
};

TEST_F(JoiningTest, TakesAnswersToItsOwnQuestionsOnly) {
  EXPECT_EQ(judge(1, 0, {1, 2}), Verdict::kUnasked);
  ask();
  EXPECT_NE(asked_one_, asked_two_);
  EXPECT_EQ(judge(3, asked_one_, {1, 2}), Verdict::kUnasked);
  EXPECT_EQ(judge(1, asked_two_, {1, 2}), Verdict::kUnasked);
  EXPECT_EQ(judge(1, asked_one_, {1, 2}), Verdict::kKept);
  EXPECT_EQ(judge(1, asked_one_, {1, 2}), Verdict::kUnasked);  // Once is enough.
  EXPECT_TRUE(joining_.waits_for_answers());
  EXPECT_EQ(judge(2, asked_two_, {1, 2}), Verdict::kKept);
  EXPECT_FALSE(joining_.waits_for_answers());
}

TEST_F(JoiningTest, OneThatHasBegunNoEarlierIsOfNoHelp) {
  ask();
  EXPECT_EQ(judge(1, asked_one_, {1, 2}, 2), Verdict::kNotAhead);
  EXPECT_EQ(judge(2, asked_two_, {}, 9), Verdict::kNotAhead);
  EXPECT_FALSE(joining_.choose(kOwn));
  EXPECT_EQ(joining_.adoptions(), 0u);
}

TEST_F(JoiningTest, ModelsThatCannotBeAreRefused) {
  ask();
  EXPECT_EQ(judge(1, asked_one_, {1, std::numeric_limits<float>::infinity()}), Verdict::kNotFinite);
  EXPECT_EQ(judge(2, asked_two_, {1e4f, 0}), Verdict::kTooLarge);
  EXPECT_FALSE(joining_.choose(kOwn));
}

TEST_F(JoiningTest, OfTwoItTakesTheOneNearerToWhereAllBegan) {
  ask();
  EXPECT_EQ(judge(1, asked_one_, {40, 40}, 90), Verdict::kKept);
  EXPECT_EQ(judge(2, asked_two_, {1, 2}, 50), Verdict::kKept);
  const auto choice = joining_.choose(kOwn);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->from, 2u);
  EXPECT_EQ(choice->offer.model, (Vector{1, 2}));
  EXPECT_EQ(choice->rounds_min, 50u);
  EXPECT_EQ(choice->compared, 2u);
  EXPECT_EQ(joining_.adoptions(), 1u);
}

TEST_F(JoiningTest, WithOneAnswerItDoesNotWaitForEver) {
  ask();
  EXPECT_EQ(judge(1, asked_one_, {1, 2}), Verdict::kKept);
  EXPECT_TRUE(joining_.waits_for_answers());
  const auto choice = joining_.choose(kOwn);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->from, 1u);
  EXPECT_EQ(judge(2, asked_two_, {1, 2}), Verdict::kUnasked);  // Too late.
}

TEST_F(JoiningTest, GivesItsModelToThoseFarBehindOnly) {
  const Vector model = {1.0f, 2.0f};
  EXPECT_TRUE(joining_.answer(1, {.nonce = 4}, 2, model)->model.empty());
  EXPECT_EQ(joining_.answer(2, {.nonce = 4}, 3, model)->model, model);
  EXPECT_EQ(joining_.answer(3, {.nonce = 4, .rounds = 0xffffffff}, 3, model)->nonce, 4u);
  EXPECT_FALSE(joining_.answer(2, {.nonce = 5}, 3, model));  // Twice within a second.
}

TEST_F(JoiningTest, AModelThatIsNotFiniteIsNotOffered) {
  const Vector spoilt = {1.0f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(joining_.answer(1, {.nonce = 4}, 9, spoilt)->model.empty());
}

TEST_F(JoiningTest, KeepsTheNewestOfWhatCameTooEarly) {
  constexpr std::size_t kMessageBytes = 20 << 20;
  EXPECT_FALSE(joining_.keeps_much());
  for (NodeId from = 1; from <= 5; ++from) joining_.keep({from, Bytes(kMessageBytes)});
  EXPECT_TRUE(joining_.keeps_much());
  const std::deque<Incoming> kept = joining_.take_kept();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.front().from, 3u);
  EXPECT_TRUE(joining_.take_kept().empty());
  EXPECT_FALSE(joining_.keeps_much());
}

// Others' shares, which came first, stay; large messages or small, the memory is the same.
TEST_F(JoiningTest, WhoFloodsPushesOutItsOwnOnly) {
  for (const std::size_t bytes : {std::size_t{3} << 20, std::size_t{1000}}) {
    for (NodeId from = 1; from <= 3; ++from) joining_.keep({from, Bytes(8 << 20)});
    for (std::size_t i = 0; i < (100u << 20) / bytes; ++i) joining_.keep({4, Bytes(bytes)});
    const std::deque<Incoming> kept = joining_.take_kept();
    std::size_t held = 0;
    for (const Incoming& incoming : kept) held += incoming.bytes.size();
    EXPECT_LE(held, 64u << 20);
    EXPECT_GE(held, 59u << 20);
    for (NodeId from = 1; from <= 3; ++from) EXPECT_EQ(kept[from - 1].from, from);
  }
}

}  // namespace
}  // namespace tessera
