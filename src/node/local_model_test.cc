#include "node/local_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(LocalModel, TakesWhatTrainingMadeOfIt) {
  LocalModel model({1, 2});
  model.begin_training();
  EXPECT_TRUE(model.training());
  model.end_training({3, 5}, 0.5f);
  EXPECT_EQ(model.values(), (Vector{3, 5}));
  EXPECT_EQ(model.age(), 1u);
  EXPECT_EQ(model.last_loss(), 0.5f);
  EXPECT_FALSE(model.training());
}

// Training moves (1, 2) by (2, 3); a merge meanwhile moved it to (10, 20).
TEST(LocalModel, KeepsWhatWasMergedWhileItTrained) {
  LocalModel model({1, 2});
  model.begin_training();
  std::span<float> values = model.to_merge();
  values[0] = 10, values[1] = 20;
  model.end_training({3, 5}, 0);
  EXPECT_EQ(model.values(), (Vector{12, 23}));
}

TEST(LocalModel, AMergeBetweenTrainingsIsNoPartOfTheNext) {
  LocalModel model({1});
  model.to_merge()[0] = 4;
  model.begin_training();
  model.end_training({5}, 0);
  EXPECT_EQ(model.values(), Vector{5});
}

TEST(LocalModel, AForgottenTrainingLeavesWhatWasMerged) {
  LocalModel model({1});
  model.begin_training();
  model.to_merge()[0] = 4;
  model.forget_training();
  model.begin_training();
  model.end_training({5}, 0);
  EXPECT_EQ(model.values(), Vector{5});
}

TEST(LocalModel, ASavedOneGoesOnInTheMiddleOfTraining) {
  LocalModel model({1, 2}), again({0, 0}), other({0});
  model.begin_training();
  model.to_merge()[1] = 7;
  Bytes saved;
  save_fields(model, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(again, in).ok());
  again.end_training({2, 4}, 1);
  EXPECT_EQ(again.values(), (Vector{2, 9}));
  ByteReader once_more(saved);
  EXPECT_FALSE(load_fields(other, once_more).ok());
}

TEST(LocalModel, ItsNormFollowsItsValues) {
  LocalModel model({3, 4});
  EXPECT_EQ(model.norm(), 5);
  model.begin_training();
  model.end_training({6, 8}, 0);
  EXPECT_EQ(model.norm(), 10);
  model.to_merge()[0] = 0;
  EXPECT_EQ(model.norm(), 8);
}

TEST(LocalModel, ASavedOneThatIsNotFiniteIsRefused) {
  for (const float value : {std::nanf(""), HUGE_VALF}) {
    LocalModel model({1, value}), again({0, 0});
    Bytes saved;
    save_fields(model, saved);
    ByteReader in(saved);
    EXPECT_FALSE(load_fields(again, in).ok());
  }
}

}  // namespace
}  // namespace tessera
