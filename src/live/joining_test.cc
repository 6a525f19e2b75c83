// Node 0 is new and asks node 1; node 2 is not there.
#include "live/joining.h"

#include <gtest/gtest.h>

#include "live/link/testing.h"

namespace tessera {
namespace {

const ModelOffer kFarAhead{.rounds = 5, .model = {1.0f, 2.0f}};

class JoiningTest : public testing::Test {
 protected:
  JoiningTest()
      : network_("loopback", 3, quick()), own_(network_.start(0)), helper_(network_.start(1)) {}

  TestNetwork network_;
  std::unique_ptr<Transport> own_, helper_;
  Joining joining_{*own_, {1, 2}, 3};
};

TEST_F(JoiningTest, AsksTheHelpersThatAreThereAndTakesTheModelOfOneFarAhead) {
  ASSERT_TRUE(await([&] { return own_->peer(1).alive(); }));
  joining_.ask();
  EXPECT_TRUE(joining_.waits_for_answers());
  const std::optional<Incoming> question = await_message(*helper_);
  ASSERT_TRUE(question && is_control(question->bytes));
  EXPECT_EQ(joining_.judge(2, kFarAhead), Joining::Verdict::kUnasked);
  EXPECT_EQ(joining_.judge(1, kFarAhead), Joining::Verdict::kTake);
  EXPECT_FALSE(joining_.waits_for_answers());
  EXPECT_EQ(joining_.judge(1, kFarAhead),
            Joining::Verdict::kUnasked);  // Once is enough.
  EXPECT_EQ(joining_.adoptions(), 1u);
}

TEST_F(JoiningTest, OneThatHasBegunNoEarlierIsOfNoHelp) {
  ASSERT_TRUE(await([&] { return own_->peer(1).alive(); }));
  joining_.ask();
  EXPECT_EQ(joining_.judge(1, {.rounds = 2, .model = {1.0f, 2.0f}}), Joining::Verdict::kNotAhead);
  EXPECT_FALSE(joining_.waits_for_answers());
  EXPECT_EQ(joining_.adoptions(), 0u);
}

TEST_F(JoiningTest, GivesItsModelToThoseFarBehindOnly) {
  const Vector model = {1.0f, 2.0f};
  EXPECT_TRUE(joining_.answer({.rounds = 0}, 2, model).model.empty());
  EXPECT_EQ(joining_.answer({.rounds = 0}, 3, model).model, model);
}

TEST_F(JoiningTest, KeepsTheNewestOfWhatCameTooEarly) {
  constexpr std::size_t kMessageBytes = 20 << 20;
  for (NodeId from = 1; from <= 5; ++from) joining_.keep({from, Bytes(kMessageBytes)});
  const std::deque<Incoming> kept = joining_.take_kept();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.front().from, 3u);
  EXPECT_TRUE(joining_.take_kept().empty());
}

}  // namespace
}  // namespace tessera
