// Whole rounds and evaluations beside the CPU layers.
#include "cuda/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <utility>

#include "base/threads.h"
#include "cuda/backend.h"
#include "cuda/for_tests.h"
#include "cuda/layer.h"
#include "learn/testing_world.h"

namespace tessera::cuda {
namespace {

using testing::LearningWorld;

LearningWorld world_of(const Task& task) {
  LearningWorld world(task);
  world.backends = {&cuda_backend(), 1};
  return world;
}

constexpr const char* kTrainings[] = {
    "sgd:lr=0.02,batch=4,steps=3", "sgd:lr=0.01,batch=4,steps=2,momentum=0.9,weight_decay=0.001"};
constexpr const char* kDevices[] = {"cuda:precision=fp32", "cuda:chunk=2", "cuda"};

TEST(CudaTrainer, TrainsAsTheCpuLayersDo) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases()) {
    for (const char* training : some_of(kTrainings))
      for (const char* device : some_of(kDevices)) {
        SCOPED_TRACE(fmt::format("{} {} {}", c.spec, training, device));
        LearningWorld cpu = world_of(c.task), gpu = world_of(c.task);
        const Learning on_cpu = cpu.learning(c.spec, training, "cpu", 1, kTested);
        const Learning on_gpu = gpu.learning(c.spec, training, device, 1, kTested);
        const std::vector<float> wanted = cpu.run(*on_cpu.trainer, 2);
        const std::vector<float> losses = gpu.run(*on_gpu.trainer, 2);
        for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], wanted[i], 1e-4);
        EXPECT_LT(largest_gap(gpu, cpu), 1e-4);
        const std::vector<Score> scores = gpu.scores(*on_gpu.evaluator);
        const std::vector<Score> expected = cpu.scores(*on_cpu.evaluator);
        for (std::size_t i = 0; i < scores.size(); ++i) {
          EXPECT_NEAR(scores[i].loss, expected[i].loss, 1e-3);
          EXPECT_NEAR(scores[i].accuracy, expected[i].accuracy, 0.006);
        }
      }
  }
}

// Linear layers take eight samples at a time. In plain float32: a pixel that wins its pool by less
// than 3xf16 differs from the CPU moves a gradient by more than rounding.
TEST(CudaTrainer, LargerBatchesTrainAsTheCpuLayersDo) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases()) {
    SCOPED_TRACE(c.spec);
    LearningWorld cpu = world_of(c.task), gpu = world_of(c.task);
    const std::string_view training = "sgd:lr=0.02,batch=11,steps=2";
    const Learning on_cpu = cpu.learning(c.spec, training, "cpu", 1, kTested);
    const Learning on_gpu = gpu.learning(c.spec, training, "cuda:precision=fp32", 1, kTested);
    cpu.run(*on_cpu.trainer, 2);
    gpu.run(*on_gpu.trainer, 2);
    EXPECT_LT(largest_gap(gpu, cpu), 1e-4);
  }
}

// With next to no memory, models are tested on eight samples at a time.
TEST(CudaTrainer, RepeatsBitForBit) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases())
    for (const char* training : some_of(kTrainings)) {
      SCOPED_TRACE(fmt::format("{} {}", c.spec, training));
      LearningWorld first = world_of(c.task), second = world_of(c.task);
      const Learning one = first.learning(c.spec, training, "cuda", 1, kTested);
      const Learning other =
          second.learning(c.spec, training, "cuda:chunk=2,graphs=no,memory=4KiB", 1, kTested);
      EXPECT_EQ(first.run(*one.trainer, 3), second.run(*other.trainer, 3));
      EXPECT_EQ(first.models, second.models);
      const std::vector<Score> a = first.scores(*one.evaluator),
                               b = second.scores(*other.evaluator);
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].accuracy, b[i].accuracy);
        EXPECT_EQ(a[i].loss, b[i].loss);
      }
    }
}

// In chunks of one node there are more of them than fit in flight.
TEST(CudaTrainer, WhatIsBegunIsAwaitedByManyThreads) {
  SKIP_WITHOUT_GPU();
  const LearningWorld world = world_of(testing::images(3, 16, 10));
  const std::string_view training = "sgd:lr=0.02,batch=4,steps=3,momentum=0.9";
  const auto train = [&](const char* device, bool in_steps) {
    const Learning learning = world.learning("gn-lenet", training, device, 1, kTested);
    std::vector<Vector> models(testing::kNodes, learning.trainer->initial_model());
    Workers workers(3);
    for (std::uint64_t round = 0; round < 3; ++round) {
      std::vector<TrainJob> cohort;
      for (NodeId node = 0; node < testing::kNodes; ++node)
        cohort.push_back({node, models[node], Random(4).fork("node", node).fork("round", round)});
      if (!in_steps) {
        learning.trainer->train(cohort);
        continue;
      }
      learning.trainer->begin(cohort);
      workers.for_each(cohort.size(), [&](std::size_t job) { learning.trainer->await(job); });
    }
    return models;
  };
  const std::vector<Vector> wanted = train("cuda", false);
  EXPECT_EQ(train("cuda", true), wanted);
  EXPECT_EQ(train("cuda:chunk=1", true), wanted);
  EXPECT_EQ(train("cuda:chunk=1", false), wanted);
}

// Nodes that join as soon as they are ready: all of a cohort, some, so that a chunk stays half
// empty and another empty, or none; with what the optimizer remembers of each.
TEST(CudaTrainer, WhoJoinsIsTrainedAsWhoIsBegun) {
  SKIP_WITHOUT_GPU();
  constexpr NodeId kMany = 60;
  constexpr std::array<std::pair<NodeId, std::size_t>, 5> kCohorts = {
      {{30, 60}, {60, 60}, {27, 30}, {0, 60}, {49, 60}}};
  const LearningWorld world = world_of(testing::images(1, 13, 10));
  const Partition partition = partition_data(world.data, "iid", kMany, Random(1));
  const auto train = [&](const char* device, bool joining) {
    const Learning learning =
        make_learning(world.data, partition,
                      {.model = parse_spec("mlp:hidden=20/12"),
                       .training = parse_training("adam:lr=0.02,batch=2,steps=9"),
                       .device = parse_device(device),
                       .backends = world.backends});
    Trainer& trainer = *learning.trainer;
    std::vector<Vector> models(kMany, trainer.initial_model());
    Vector& losses = models.emplace_back(kMany);
    Workers workers(3);
    for (const auto& [count, places] : kCohorts) {
      std::vector<TrainJob> all(kMany), cohort(kMany);
      for (NodeId node = 0; node < count; ++node)
        all[node] = {node, models[node], Random(4).fork("node", node).fork("of", count)};
      if (joining) {
        EXPECT_TRUE(trainer.takes_early(places));
        trainer.open(std::span(cohort).first(places));
        std::atomic<std::size_t> joined = 0;
        workers.for_each(count, [&](std::size_t node) {
          const std::size_t job = joined++;
          cohort[job] = all[node];
          trainer.join(job);
        });
        trainer.close();
      } else {
        cohort = all;
        trainer.begin(std::span(cohort).first(count));
      }
      workers.for_each(count, [&](std::size_t job) { trainer.await(job); });
      for (std::size_t job = 0; job < count; ++job) losses[cohort[job].node] += cohort[job].loss;
    }
    return models;
  };
  const std::vector<Vector> wanted = train("cuda", false);
  EXPECT_EQ(train("cuda", true), wanted);
  EXPECT_EQ(train("cuda:chunk=17,graphs=no", true), wanted);
}

TEST(CudaTrainer, JobsJoinOnlyWhereAllAreInFlightAtOnce) {
  SKIP_WITHOUT_GPU();
  const LearningWorld world = world_of(testing::images(1, 13, 10));
  const auto takes_early = [&](const char* device, std::size_t jobs) {
    const Learning learning =
        world.learning("mlp:hidden=20/12", "sgd:lr=0.02,batch=2,steps=2", device, 1, kTested);
    return learning.trainer->takes_early(jobs);
  };
  EXPECT_TRUE(takes_early("cuda:chunk=10", 40));
  EXPECT_FALSE(takes_early("cuda:chunk=10", 41));
  EXPECT_FALSE(takes_early("cuda", 24));  // Too few to be cut up.
}

// A round of more steps than are one graph, in as many chunks as go together and in one, and
// without graphs. From the second round on only graphs are started.
TEST(CudaTrainer, LongRoundsAreTheSameInTurnsOfSteps) {
  SKIP_WITHOUT_GPU();
  const auto train = [](const char* device) {
    LearningWorld world = world_of(testing::images(1, 13, 10));
    const Learning learning = world.learning(
        "mlp:hidden=20/12", "sgd:lr=0.02,batch=2,steps=19,momentum=0.9", device, 1, kTested);
    world.run(*learning.trainer, 3);
    return world.models;
  };
  const std::vector<Vector> wanted = train("cuda:graphs=no");
  EXPECT_EQ(train("cuda"), wanted);
  EXPECT_EQ(train("cuda:chunk=1"), wanted);
  EXPECT_EQ(train("cuda:chunk=2"), wanted);
}

TEST(CudaTrainer, DivergenceIsScored) {
  SKIP_WITHOUT_GPU();
  LearningWorld world = world_of(testing::images(3, 16, 10));
  expect_divergence_is_scored(world, "gn-lenet", "cuda");
}

TEST(CudaTrainer, EvaluatesOwnSamples) {
  SKIP_WITHOUT_GPU();
  LearningWorld world = world_of(testing::images(1, 13, 10));
  for (std::uint32_t node = 0; node < testing::kNodes; ++node)
    world.partition.test.push_back({node * 3, node * 3 + 1, node * 100 + 7});
  world.partition.test[4].resize(1);
  const Learning cpu = world.learning("cnn28", "sgd", "cpu"),
                 gpu = world.learning("cnn28", "sgd", "cuda");
  world.run(*cpu.trainer, 1);
  const std::vector<Score> wanted = world.scores(*cpu.evaluator),
                           got = world.scores(*gpu.evaluator);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i].loss, wanted[i].loss, 1e-4);
    EXPECT_EQ(got[i].accuracy, wanted[i].accuracy);
  }
}

TEST(CudaTrainer, EvaluatesRatingsOfOwnSamples) {
  SKIP_WITHOUT_GPU();
  LearningWorld world = world_of(testing::ratings(7, 9));
  expect_own_samples_are_tested(world, "cuda");
}

TEST(CudaTrainer, TooLittleMemoryIsSaid) {
  SKIP_WITHOUT_GPU();
  const LearningWorld world = world_of(testing::images(3, 16, 10));
  EXPECT_THROW(world.learning("gn-lenet", "sgd", "cuda:memory=4KiB"), std::invalid_argument);
}

TEST(CudaTrainer, AGpuThatIsNotThereIsRefusedInPlainWords) {
  const LearningWorld world = world_of(testing::images(1, 13, 10));
  try {
    world.learning("cnn28", "sgd", "cuda:index=1000");
    FAIL();
  } catch (const std::invalid_argument& refused) {
    const std::string_view said = refused.what();
    EXPECT_TRUE(said.starts_with("device: ")) << said;
  }
}

TEST(CudaTrainer, EveryModelHasItsKernels) {
  for (const testing::Case& c : testing::small_cases())
    EXPECT_EQ(missing_in(build_model(c.spec, c.task).layers), "") << c.spec;
  EXPECT_EQ(missing_in(build_model("vgg11", testing::images(3, 32, 10)).layers), "");
}

TEST(CudaTrainer, LayersWithoutKernelsAreNamed) {
  const auto missing = [](std::uint32_t width, std::uint32_t units) {
    ModelBuilder builder("own", testing::tokens(5, 11));
    return missing_in(
        builder.embedding("e", 11, width).lstm("l", units, 1).linear("fc", 11).done().layers);
  };
  EXPECT_EQ(missing(8, 64), "");
  EXPECT_EQ(missing(8, 96), "LSTMs whose units are not 32, 64, 128 or 256");
  EXPECT_EQ(missing(6, 64), "LSTMs whose inputs are no multiple of 4");
}

}  // namespace
}  // namespace tessera::cuda
