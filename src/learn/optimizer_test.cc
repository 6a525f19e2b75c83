#include "learn/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "learn/testing.h"
#include "learn/testing_world.h"

namespace tessera {
namespace {

// Steps of one parameter at 1 with gradients 1, 2, -3.
std::vector<float> walk(const char* line) {
  const TrainingOptions training = parse_training(line);
  OptimizerState state;
  state.fit(training, 1);
  Vector w = {1};
  std::vector<float> places;
  for (const float gradient : {1.0f, 2.0f, -3.0f}) {
    OptimizerStep(training, state.steps++).apply(w, {&gradient, 1}, state.moments(0, 1));
    places.push_back(w[0]);
  }
  return places;
}

void expect_walk(const char* line, const std::vector<double>& expected) {
  const std::vector<float> ours = walk(line);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(double{ours[i]}, expected[i], 1e-6) << line << ", step " << i;
}

// By hand. Nesterov: v = 1, 2.5, -1.75 and steps d + v/2 = 1.5, 3.25, -3.875. Adam: m = 0.5, 1.25,
// -0.875 and s = 0.5, 2.25, 5.625 become m/(1-0.5^t) = 1, 5/3, -1 and s/(1-0.5^t) = 1, 3, 45/7.
TEST(Optimizer, EqualsValuesWorkedByHand) {
  expect_walk("sgd:lr=0.1", {0.9, 0.7, 1.0});
  expect_walk("sgd:lr=0.1,momentum=0.5", {0.9, 0.65, 0.825});
  expect_walk("sgd:lr=0.1,momentum=0.5,nesterov=yes", {0.85, 0.525, 0.9125});
  const double second = 0.9 - 0.1 * (5.0 / 3) / std::sqrt(3.0);
  expect_walk("adam:lr=0.1,beta1=0.5,beta2=0.5,epsilon=1e-12",
              {0.9, second, second + 0.1 / std::sqrt(45.0 / 7)});
  // Decoupled decay: every step begins at 0.9 of the weight.
  expect_walk("adamw:lr=0.1,beta1=0.5,beta2=0.5,epsilon=1e-12,weight_decay=1",
              {0.8, 0.72 - 0.1 * (5.0 / 3) / std::sqrt(3.0)});
  // Decay in the gradient is 1 + 1 at first, and Adam's first step is lr whatever its length.
  expect_walk("adam:lr=0.1,epsilon=1e-12,weight_decay=1", {0.9});
  expect_walk("sgd:lr=0.1,schedule=step,every=1,factor=0.5", {0.9, 0.8, 0.875});
}

TEST(Optimizer, SgdEqualsTheFormula) {
  struct Variant {
    float momentum, weight_decay;
  };
  for (const Variant v : {Variant{0, 0}, Variant{0.9f, 0}, Variant{0, 0.1f}, Variant{0.9f, 0.1f}}) {
    const TrainingOptions training{
        .lr = 0.3f, .momentum = v.momentum, .weight_decay = v.weight_decay};
    Vector ours = testing::normals(50, Random(1)), velocity(v.momentum != 0 ? 50 : 0, 0.0f);
    std::vector<double> w(ours.begin(), ours.end()), u(50, 0.0);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const Vector gradient = testing::normals(50, Random(2).fork("step", step));
      OptimizerStep(training, step).apply(ours, gradient, {velocity, {}});
      for (std::size_t i = 0; i < 50; ++i) {
        u[i] = double{v.momentum} * u[i] + double{gradient[i]} + double{v.weight_decay} * w[i];
        w[i] -= double{training.lr} * u[i];
      }
    }
    const Vector expected(w.begin(), w.end());
    EXPECT_LT(testing::relative_gap(ours, expected), 1e-6) << v.momentum << " " << v.weight_decay;
  }
}

TEST(ClipScale, BringsLongGradientsToTheNormAndLeavesShortOnes) {
  const Vector gradient = {3, 0, -4};
  EXPECT_NEAR(clip_scale(1, gradient), 0.2f, 1e-6);
  EXPECT_EQ(clip_scale(6, gradient), 1);
  EXPECT_EQ(clip_scale(1, Vector(3)), 1);
}

constexpr const char* kLines[] = {
    "sgd:lr=0.02,batch=4,steps=3,momentum=0.9,nesterov=yes,schedule=cosine,length=9,warmup=2",
    "adam:batch=4,steps=3,weight_decay=0.01,clip=0.1",
    "adamw:batch=4,steps=3,schedule=linear,length=9",
    "sgd:lr=0.02,batch=4,steps=3,clip=0.5,schedule=step,every=2"};

// A node's steps depend on its own past alone: not on threads, not on who else trains.
TEST(Optimizers, AreTheSameBitsForAnyNumberOfThreads) {
  const testing::Case c = testing::small_cases()[0];
  for (const char* line : kLines) {
    testing::LearningWorld one(c.task), three(c.task);
    const Learning alone = one.learning(c.spec, line, "cpu", 1);
    const Learning together = three.learning(c.spec, line, "cpu", 3);
    EXPECT_EQ(one.run(*alone.trainer, 3), three.run(*together.trainer, 3)) << line;
    EXPECT_EQ(one.models, three.models) << line;
  }
}

// A checkpoint after the first of two rounds holds all that the second needs.
TEST(Optimizers, GoOnFromWhatIsSaved) {
  const testing::Case c = testing::small_cases()[0];
  for (const char* line : kLines) {
    testing::LearningWorld world(c.task);
    const Learning learning = world.learning(c.spec, line, "cpu");
    world.run(*learning.trainer, 1);
    Bytes saved;
    save_fields(*learning.trainer, saved);
    const Learning again = world.learning(c.spec, line, "cpu");
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(*again.trainer, in).ok()) << line;
    EXPECT_EQ(in.left(), 0u);
    Vector first = world.models[2], second = world.models[2];
    TrainJob job{2, first, Random(5)}, same{2, second, Random(5)};
    learning.trainer->train({&job, 1});
    again.trainer->train({&same, 1});
    EXPECT_EQ(first, second) << line;
  }
}

// Clipping to a norm no gradient has changes nothing; to a small one, a step is as long as it says.
TEST(Optimizers, ClipTheWholeGradient) {
  for (const testing::Case& c : testing::small_cases()) {
    const auto moved = [&](const char* line) {
      testing::LearningWorld world(c.task);
      const Learning learning = world.learning(c.spec, line, "cpu");
      world.run(*learning.trainer, 1);
      Vector change = learning.trainer->initial_model();
      for (std::size_t i = 0; i < change.size(); ++i) change[i] -= world.models[0][i];
      return change;
    };
    const Vector free = moved("sgd:lr=1,batch=4,steps=1");
    EXPECT_LT(testing::relative_gap(moved("sgd:lr=1,batch=4,steps=1,clip=1e9"), free), 1e-6);
    double squares = 0;
    for (const float x : moved("sgd:lr=1,batch=4,steps=1,clip=0.01"))
      squares += double{x} * double{x};
    EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-4) << c.spec;
  }
}

}  // namespace
}  // namespace tessera
