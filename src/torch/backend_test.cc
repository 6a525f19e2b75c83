// LibTorch's ways to train and evaluate against the CPU layers.
#include "torch/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "learn/testing_world.h"

namespace tessera {
namespace {

using testing::kNodes;
using testing::kTests;

struct World : testing::LearningWorld {
  explicit World(const Task& task) : LearningWorld(task) { backends = {&torch_backend(), 1}; }
};

// Three ways to the same models: by hand, under autograd, and stacked in chunks of 2, 3 and 5. They
// draw the same samples; sums differ in their order.
TEST(TorchTrainers, AgreeOnEveryModel) {
  for (const testing::Case& c : testing::small_cases()) {
    const std::string training = "sgd:lr=0.02,batch=4,steps=4,momentum=0.5,weight_decay=0.01";
    World by_default(c.task);
    const Learning learning = by_default.learning(c.spec, training, "cpu");
    const std::vector<float> losses = by_default.run(*learning.trainer, 2);
    for (const char* device : {"cpu:mode=reference", "cpu:mode=stacked,chunk=2",
                               "cpu:mode=stacked,chunk=3", "cpu:mode=stacked"}) {
      World other(c.task);
      const Learning its = other.learning(c.spec, training, device);
      const std::vector<float> other_losses = other.run(*its.trainer, 2);
      EXPECT_LT(largest_gap(other, by_default), 1e-4) << c.spec << " on " << device;
      for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(other_losses[i], losses[i], 1e-3 * std::abs(losses[i]))
            << c.spec << " on " << device;
    }
  }
}

// The optimizers work on whatever model a thread has, so autograd's gradients take the same steps.
// Of models without pools: the larger of two equal pixels is a matter of rounding, which Adam
// magnifies.
TEST(TorchTrainers, TheReferenceTakesEveryOptimizersSteps) {
  for (const testing::Case& c : testing::small_cases()) {
    if (c.spec != "logistic" && c.spec != "lstm" && !c.spec.starts_with("mlp")) continue;
    for (const char* training :
         {"adamw:lr=0.01,batch=4,steps=4,clip=0.5,epsilon=0.001",
          "sgd:lr=0.02,batch=4,steps=4,momentum=0.5,nesterov=yes,schedule=cosine,length=8"}) {
      World by_default(c.task), other(c.task);
      by_default.run(*by_default.learning(c.spec, training, "cpu").trainer, 2);
      other.run(*other.learning(c.spec, training, "cpu:mode=reference").trainer, 2);
      EXPECT_LT(largest_gap(other, by_default), 1e-4) << c.spec << ", " << training;
    }
  }
}

TEST(TorchTrainers, StackedOnesRefuseWhatTheyDoNotDo) {
  const testing::Case c = testing::small_cases()[0];
  const World world(c.task);
  for (const char* training :
       {"adam", "sgd:momentum=0.9,nesterov=yes", "sgd:clip=1", "sgd:warmup=5", "sgd:schedule=step"})
    EXPECT_THROW(world.learning(c.spec, training, "cpu:mode=stacked"), std::invalid_argument)
        << training;
}

TEST(TorchTrainers, SayThatTheyAreLibTorchs) {
  const testing::Case c = testing::small_cases()[0];
  const World world(c.task);
  for (const auto& [device, path] :
       {std::pair("cpu:mode=stacked", ", LibTorch, stacked on the CPU"),
        std::pair("cpu:mode=reference", ", LibTorch, autograd")})
    EXPECT_TRUE(world.learning(c.spec, "sgd", device).description.ends_with(path)) << device;
}

// Debian's LibTorch knows no CUDA, and built-in models do not need it there.
TEST(TorchTrainers, WithoutAGpuOfTheirsTheRemedyIsOurKernels) {
  const testing::Case c = testing::small_cases()[0];
  const World world(c.task);
  try {
    world.learning(c.spec, "sgd", "cuda");
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("build it where nvcc"), std::string::npos)
        << error.what();
    return;
  }
  GTEST_SKIP() << "this LibTorch has a GPU";
}

TEST(TorchTrainers, DoNotMindWhoElseTrains) {
  const testing::Case c = testing::small_cases()[3];
  for (const char* device : {"cpu:mode=reference"}) {
    World world(c.task);
    const Learning learning = world.learning(c.spec, "sgd:lr=0.05,batch=4,steps=3", device, 2);
    world.run(*learning.trainer, 1);
    Vector alone = learning.trainer->initial_model();
    TrainJob job{3, alone, Random(4).fork("node", 3).fork("round", 0)};
    learning.trainer->train({&job, 1});
    EXPECT_EQ(alone, world.models[3]) << device;
  }
}

TEST(TorchEvaluators, Agree) {
  for (const testing::Case& c : testing::small_cases()) {
    World world(c.task);
    const Learning learning = world.learning(c.spec, "sgd:lr=0.05,batch=4,steps=6", "cpu");
    world.run(*learning.trainer, 2);
    const std::vector<Score> expected = world.scores(*learning.evaluator);
    for (const char* device : {"cpu:mode=reference", "cpu:mode=stacked,chunk=2"}) {
      const Learning its = world.learning(c.spec, "sgd", device);
      const std::vector<Score> scores = world.scores(*its.evaluator);
      ASSERT_EQ(scores.size(), kNodes);
      for (std::size_t i = 0; i < kNodes; ++i) {
        EXPECT_NEAR(scores[i].loss, expected[i].loss, 1e-4) << c.spec << " on " << device;
        // Two outputs that differ by rounding may change places now and then.
        EXPECT_NEAR(scores[i].accuracy, expected[i].accuracy, 2.5 / kTests)
            << c.spec << " on " << device;
      }
    }
  }
}

TEST(TorchEvaluators, ScoreADivergedModelAsNotANumber) {
  for (const testing::Case& c : testing::small_cases())
    for (const char* device : {"cpu:mode=reference", "cpu:mode=stacked"}) {
      World world(c.task);
      testing::expect_divergence_is_scored(world, c.spec, device);
    }
}

TEST(TorchEvaluators, TestNodesOnTheirOwnSamples) {
  World world(testing::ratings(7, 9));
  testing::expect_own_samples_are_tested(world, "cpu:mode=stacked");
}

}  // namespace
}  // namespace tessera
