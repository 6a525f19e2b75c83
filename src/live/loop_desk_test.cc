// A node and a loop that hand models over, each on a thread of its own.
#include "live/loop_desk.h"

#include <gtest/gtest.h>

#include <future>

namespace tessera {
namespace {

constexpr Duration kLong = std::chrono::seconds(60);
using Call = LoopDesk::Call;

// The node's side of one training.
std::future<Vector> train(LoopDesk& desk, Vector model) {
  return std::async(std::launch::async, [&desk, model = std::move(model)]() mutable {
    TrainJob job{.model = model, .random = Random(7)};
    desk.train(job);
    model.push_back(job.loss);
    return model;
  });
}

std::future<Score> test(LoopDesk& desk, Vector model) {
  return std::async(std::launch::async, [&desk, model = std::move(model)] {
    return desk.test(std::span<const float>(model));
  });
}

TEST(LoopDesk, HandsOverAndBack) {
  LoopDesk desk(true);
  EXPECT_EQ(desk.wait(Duration::zero()), Call::kNothingYet);
  auto trained = train(desk, {1, 2});
  ASSERT_EQ(desk.wait(kLong), Call::kTrain);
  ASSERT_EQ(desk.wait(kLong), Call::kTrain);  // Until it is answered.
  EXPECT_EQ(desk.model(), (Vector{1, 2}));
  EXPECT_EQ(desk.seed(), Random(7).bits64());
  desk.tested({});  // No answer to this.
  desk.trained({3, 4}, 0.5f, "memory");
  EXPECT_EQ(trained.get(), (Vector{3, 4, 0.5f}));
  EXPECT_EQ(desk.wait(Duration::zero()), Call::kNothingYet);

  auto score = test(desk, {5, 6});
  ASSERT_EQ(desk.wait(kLong), Call::kTest);
  EXPECT_EQ(desk.model(), (Vector{5, 6}));
  desk.tested({.accuracy = 0.25, .loss = 2});
  EXPECT_EQ(score.get().accuracy, 0.25);
}

TEST(LoopDesk, TheLastModelIsTestedBeforeItIsCalledTheLast) {
  LoopDesk desk(true);
  desk.finish({1, 2});
  EXPECT_EQ(desk.wait(Duration::zero()), Call::kNothingYet);
  for (const Vector& model : {Vector{0, 0}, Vector{1, 2}}) {
    auto score = test(desk, model);
    ASSERT_EQ(desk.wait(kLong), Call::kTest);
    desk.tested({});
    (void)score.get();
    EXPECT_EQ(desk.wait(Duration::zero()),
              model.front() == 0 ? Call::kNothingYet : Call::kFinished);
  }
  EXPECT_EQ(desk.model(), (Vector{1, 2}));

  LoopDesk testless(false);
  testless.finish({3});
  EXPECT_EQ(testless.wait(Duration::zero()), Call::kFinished);
  EXPECT_EQ(testless.model(), Vector{3});
  EXPECT_EQ(test(testless, {3}).get().loss, 0);
}

TEST(LoopDesk, WhoLooksAfterTheNodeHasGoneHearsThatItFinished) {
  LoopDesk desk(false);
  desk.finish({3});
  desk.end();
  EXPECT_EQ(desk.wait(kLong), Call::kFinished);
  EXPECT_EQ(desk.model(), Vector{3});
  EXPECT_TRUE(desk.wait_for_end(Duration::zero()));
}

TEST(LoopDesk, WhoLeavesAbandonsWhatIsAskedFor) {
  LoopDesk desk(true);
  auto trained = train(desk, {1});
  ASSERT_EQ(desk.wait(kLong), Call::kTrain);
  desk.leave();
  EXPECT_THROW(trained.get(), WorkAbandoned);
  desk.trained({2}, 0, {});  // Too late.
  EXPECT_THROW(train(desk, {1}).get(), WorkAbandoned);
  EXPECT_THROW(test(desk, {1}).get(), WorkAbandoned);
  EXPECT_FALSE(desk.wait_for_end(Duration::zero()));
  desk.end();
  EXPECT_TRUE(desk.wait_for_end(kLong));
  EXPECT_EQ(desk.wait(kLong), Call::kEnded);
}

TEST(LoopDesk, KeepsTheLoopsMemory) {
  LoopDesk first(false), second(false);
  auto trained = train(first, {1});
  ASSERT_EQ(first.wait(kLong), Call::kTrain);
  first.trained({1}, 0, "memory");
  (void)trained.get();
  Bytes saved;
  save_fields(first, saved);
  EXPECT_EQ(first.take_restored(), std::nullopt);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(second, in).ok());
  EXPECT_EQ(second.take_restored(), "memory");
  EXPECT_EQ(second.take_restored(), std::nullopt);
}

}  // namespace
}  // namespace tessera
