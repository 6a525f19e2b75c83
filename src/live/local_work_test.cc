// Training and evaluation of the quadratic toy on the thread beside the loop.
#include "live/local_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "learn/quadratic.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

class LocalWorkTest : public testing::Test {
 protected:
  LocalWorkParts parts() {
    return {.trainer = &trainer_, .evaluator = &evaluator_, .on_done = [this] { ++done_; }};
  }
  bool await_done(int count) {
    return await([&] { return done_ == count; });
  }

  Quadratic trainer_{{.nodes = 2, .dimension = 10}};
  QuadraticEvaluator evaluator_{trainer_};
  std::atomic<int> done_ = 0;
};

TEST_F(LocalWorkTest, TrainsWhatIsWantedWhenItIsStarted) {
  LocalWork work(parts());
  EXPECT_FALSE(work.training_wanted());
  work.want_training(trainer_.initial_model(), Random(1));
  EXPECT_TRUE(work.training_wanted());
  EXPECT_FALSE(work.training());
  work.start_training();
  EXPECT_FALSE(work.training_wanted());
  EXPECT_TRUE(work.training());
  ASSERT_TRUE(await_done(1));
  EXPECT_TRUE(work.training());  // Until it is taken.
  const std::optional<WorkDone> done = work.take(true);
  ASSERT_TRUE(done && std::holds_alternative<TrainingDone>(*done));
  Vector expected = trainer_.initial_model();
  TrainJob job{.model = expected, .random = Random(1)};
  trainer_.train(std::span(&job, 1));
  EXPECT_EQ(std::get<TrainingDone>(*done).trained.model, expected);
  EXPECT_FALSE(work.training());
}

TEST_F(LocalWorkTest, ATrainingThatIsNotTakenKeepsItsPlace) {
  LocalWork work(parts());
  work.want_training(trainer_.initial_model(), Random(1));
  work.start_training();
  work.evaluate({.round = 3}, trainer_.initial_model());
  ASSERT_TRUE(await_done(2));
  EXPECT_FALSE(work.take(false));
  EXPECT_TRUE(std::holds_alternative<TrainingDone>(*work.take(true)));
  const std::optional<WorkDone> evaluated = work.take(false);
  ASSERT_TRUE(evaluated);
  EXPECT_EQ(std::get<EvaluationDone>(*evaluated).row.round, 3u);
  EXPECT_FALSE(work.evaluating());
}

// What goes wrong on the thread is handed over, not lost with it.
TEST_F(LocalWorkTest, AFailureIsHandedOver) {
  struct Failing final : Evaluator {
    std::vector<Score> evaluate(std::span<const NodeId>,
                                std::span<const std::span<const float>>) override {
      throw std::runtime_error("no data");
    }
  } failing;
  LocalWorkParts with_fault = parts();
  with_fault.evaluator = &failing;
  LocalWork work(with_fault);
  work.evaluate({}, trainer_.initial_model());
  ASSERT_TRUE(await_done(1));
  const std::optional<WorkDone> done = work.take(true);
  EXPECT_THROW(std::rethrow_exception(std::get<EvaluationDone>(*done).failure), std::runtime_error);
}

}  // namespace
}  // namespace tessera
