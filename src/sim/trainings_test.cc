#include "sim/trainings.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Adds one to every coordinate and remembers how many it was given at a time.
class PlusOne final : public Trainer {
 public:
  std::size_t dimension() const override { return 2; }
  Vector initial_model() const override { return {0, 0}; }
  void train(std::span<TrainJob> cohort) override {
    cohorts.push_back(cohort.size());
    for (TrainJob& job : cohort) {
      for (float& x : job.model) x += 1;
      job.loss = static_cast<float>(job.node);
    }
  }
  std::vector<std::size_t> cohorts{};
};

TEST(Trainings, AreComputedAllTogetherWhenTheFirstIsDue) {
  PlusOne trainer;
  Trainings trainings(trainer, 4);
  for (const NodeId node : {0u, 2u, 3u})
    trainings.begin(node, {.model = {static_cast<float>(node), 0}});
  trainings.cancel(3);
  const Trained second = trainings.take(2);
  EXPECT_EQ(second.model, (Vector{3, 1}));
  EXPECT_EQ(second.loss, 2);
  EXPECT_EQ(trainings.take(0).model, (Vector{1, 1}));
  EXPECT_EQ(trainer.cohorts, (std::vector<std::size_t>{2}));
  EXPECT_EQ(trainings.model(0), nullptr);
}

TEST(Trainings, GoOnFromWhereTheyWereSaved) {
  PlusOne trainer;
  Trainings trainings(trainer, 3), loaded(trainer, 3);
  for (const NodeId node : {0u, 1u}) trainings.begin(node, {.model = {5, 0}});
  trainings.take(0);
  trainings.begin(2, {.model = {7, 0}});
  Bytes saved;
  save_fields(trainings, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded, in).ok());
  EXPECT_EQ(loaded.take(1).model, (Vector{6, 1}));  // It was computed before.
  EXPECT_EQ(loaded.take(2).model, (Vector{8, 1}));
  EXPECT_EQ(trainer.cohorts, (std::vector<std::size_t>{2, 1}));
}

}  // namespace
}  // namespace tessera
