#include "sim/trainings.h"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>

#include "base/threads.h"
#include "sim/early_for_tests.h"

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
  trainings.end(2);
  const Trained second = trainings.take(2);
  EXPECT_EQ(second.model, (Vector{3, 1}));
  EXPECT_EQ(second.loss, 2);
  trainings.end(0);
  EXPECT_EQ(trainings.take(0).model, (Vector{1, 1}));
  EXPECT_EQ(trainer.cohorts, (std::vector<std::size_t>{2}));
  EXPECT_EQ(trainings.model(0), nullptr);
}

TEST(Trainings, GoOnFromWhereTheyWereSaved) {
  PlusOne trainer;
  Trainings trainings(trainer, 3), loaded(trainer, 3);
  for (const NodeId node : {0u, 1u}) trainings.begin(node, {.model = {5, 0}});
  trainings.end(0);
  trainings.take(0);
  trainings.begin(2, {.model = {7, 0}});
  Bytes saved;
  save_fields(trainings, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded, in).ok());
  loaded.end(1);
  EXPECT_EQ(loaded.take(1).model, (Vector{6, 1}));  // It was computed before.
  loaded.end(2);
  EXPECT_EQ(loaded.take(2).model, (Vector{8, 1}));
  EXPECT_EQ(trainer.cohorts, (std::vector<std::size_t>{2, 1}));
}

// Adds one when it is awaited, not before, and writes down who was.
class Unhurried final : public Trainer {
 public:
  std::size_t dimension() const override { return 1; }
  Vector initial_model() const override { return {0}; }
  void train(std::span<TrainJob>) override { FAIL(); }
  void begin(std::span<TrainJob> cohort) override {
    EXPECT_EQ(awaited.size(), begun);
    begun += cohort.size();
    cohort_ = cohort;
  }
  void await(std::size_t job) override {
    if (failing) throw std::runtime_error("out of order");
    cohort_[job].model[0] += 1;
    cohort_[job].loss = 0.5f;
    const std::lock_guard lock(mutex_);
    awaited.push_back(cohort_[job].node);
  }
  void fields(Archive&) override { EXPECT_EQ(awaited.size(), begun); }

  std::size_t begun = 0;
  std::vector<NodeId> awaited{};
  bool failing = false;

 private:
  std::span<TrainJob> cohort_{};
  std::mutex mutex_{};
};

void begin_all(Trainings& trainings, std::uint32_t nodes) {
  for (NodeId node = 0; node < nodes; ++node)
    trainings.begin(node, {.model = {static_cast<float>(node)}});
}

TEST(Trainings, AreAwaitedOneByOne) {
  Unhurried trainer;
  Trainings trainings(trainer, 3);
  begin_all(trainings, 3);
  for (const NodeId node : {1u, 2u}) trainings.end(node);
  EXPECT_TRUE(trainer.awaited.empty());
  const Trained trained = trainings.take(2);
  EXPECT_EQ(trained.model, Vector{3});
  EXPECT_EQ(trained.loss, 0.5f);
  EXPECT_EQ(trainer.awaited, std::vector<NodeId>{2});
}

TEST(Trainings, AreTakenByManyThreads) {
  Unhurried trainer;
  Trainings trainings(trainer, 50);
  begin_all(trainings, 50);
  trainings.end(7);
  std::vector<Trained> all(50);
  Workers(4).for_each(50, [&](std::size_t i) { all[i] = trainings.take(static_cast<NodeId>(i)); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].model, Vector{static_cast<float>(i + 1)});
    EXPECT_EQ(all[i].loss, 0.5f);
  }
}

// The trainer would write where nothing is any more, or be asked for what it has not computed.
TEST(Trainings, AreAwaitedBeforeAnythingElseIsDoneWithThem) {
  Unhurried trainer;
  Trainings trainings(trainer, 4);
  begin_all(trainings, 3);
  trainings.end(0);
  trainings.cancel(1);
  EXPECT_EQ(trainer.awaited, std::vector<NodeId>{1});
  EXPECT_EQ(trainings.take(0).model, Vector{1});
  trainings.begin(3, {.model = {8}});
  trainings.end(3);  // Another cohort: node 2's is done with first.
  EXPECT_EQ(trainer.awaited, (std::vector<NodeId>{1, 0, 2}));
  Bytes saved;
  save_fields(trainings, saved);
  save_fields(trainer, saved);
  EXPECT_EQ(trainer.awaited, (std::vector<NodeId>{1, 0, 2, 3}));
  EXPECT_EQ(trainings.take(3).model, Vector{9});
  EXPECT_EQ(trainings.take(2).model, Vector{3});
}

TEST(Trainings, AreHandedOverWhileOthersAreNotReady) {
  PlusOne trainer;
  Early early(trainer);
  Trainings trainings(early, 50);
  trainings.begin(49, {.model = {5, 0}});
  ASSERT_TRUE(trainings.open(49));
  std::vector<Training> ready(49);
  Workers(4).for_each(48, [&](std::size_t i) {  // The last one has nothing to train.
    ready[i].model = {static_cast<float>(i), 0};
    trainings.join(static_cast<NodeId>(i), ready[i]);
  });
  trainings.close();
  EXPECT_FALSE(early.is_open);
  for (NodeId node = 0; node < 48; ++node) trainings.begin(node, std::move(ready[node]));
  EXPECT_FALSE(trainings.open(1));  // Those are to be taken first.
  for (NodeId node = 0; node < 48; ++node) {
    trainings.end(node);
    const Trained trained = trainings.take(node);
    EXPECT_EQ(trained.model, (Vector{static_cast<float>(node + 1), 1}));
    EXPECT_EQ(trained.loss, static_cast<float>(node));
  }
  EXPECT_TRUE(trainings.open(1));
  trainings.close();
  trainings.end(49);  // Of those that were under way before.
  EXPECT_EQ(trainings.take(49).model, (Vector{6, 1}));
  EXPECT_EQ(trainer.cohorts, (std::vector<std::size_t>(49, 1)));
}

// The many that come later would wait for the few.
TEST(Trainings, WhereFewJoinedNoneJoinsAgain) {
  PlusOne trainer;
  Early early(trainer);
  Trainings trainings(early, 4);
  const auto join = [&](std::size_t places, NodeId count) {
    if (!trainings.open(places)) return false;
    for (NodeId node = 0; node < count; ++node) {
      Training training{.model = {1, 0}};
      trainings.join(node, training);
      trainings.begin(node, std::move(training));
    }
    trainings.close();
    for (NodeId node = 0; node < count; ++node) {
      trainings.end(node);
      trainings.take(node);
    }
    return true;
  };
  EXPECT_TRUE(join(4, 2));
  EXPECT_TRUE(join(4, 0));
  EXPECT_TRUE(join(4, 1));
  EXPECT_FALSE(join(4, 4));
}

TEST(Trainings, SayWhatFailed) {
  Unhurried trainer;
  Trainings trainings(trainer, 2);
  begin_all(trainings, 2);
  trainings.end(0);
  trainer.failing = true;
  EXPECT_THROW(trainings.take(0), std::runtime_error);
}

}  // namespace
}  // namespace tessera
