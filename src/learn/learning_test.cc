// Trainers and evaluators as the layers above get them, on the CPU layers.
#include "learn/learning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "learn/amx.h"
#include "learn/bf16.h"
#include "learn/testing_world.h"

namespace tessera {
namespace {

using testing::kNodes;
using testing::kTests;
using World = testing::LearningWorld;

// Any number of threads gives the same bits, of models, losses and scores.
// Where every access is checked, some of the tests' samples do.
constexpr std::size_t kTestsScored = TESSERA_SANITIZED ? 40 : 0;

TEST(CpuTrainer, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const testing::Case& c : testing::small_cases()) {
    std::vector<std::vector<Vector>> models;
    std::vector<std::vector<float>> losses;
    std::vector<double> accuracies;
    for (const unsigned threads : {1u, 3u}) {
      World world(c.task);
      Learning learning =
          world.learning(c.spec, "sgd:lr=0.05,batch=4,steps=2", "cpu", threads, kTestsScored);
      losses.push_back(world.run(*learning.trainer, 2));
      models.push_back(world.models);
      accuracies.push_back(world.scores(*learning.evaluator)[2].loss);
    }
    EXPECT_EQ(models[1], models[0]) << c.spec;
    EXPECT_EQ(losses[1], losses[0]) << c.spec;
    EXPECT_EQ(accuracies[1], accuracies[0]) << c.spec;
  }
}

// In bf16 too, and near what float32 gives.
TEST(CpuTrainer, HasTheSameBitsInBf16OnAnyNumberOfThreads) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16";
  const testing::Case c = testing::small_cases()[0];
  std::vector<const char*> devices = {"cpu:precision=bf16",
                                      "cpu:convolution=winograd,precision=bf16"};
  if (has_amx()) devices.push_back("cpu:convolution=amx,precision=bf16");
  for (const char* device : devices) {
    World one(c.task), three(c.task), exact(c.task);
    constexpr std::string_view kTraining = "sgd:lr=0.05,batch=4,steps=2";
    const Learning learning = one.learning(c.spec, kTraining, device, 1, 40);
    const std::vector<float> losses = one.run(*learning.trainer, 2);
    EXPECT_EQ(three.run(*three.learning(c.spec, kTraining, device, 3).trainer, 2), losses);
    EXPECT_EQ(three.models, one.models) << device;
    exact.run(*exact.learning(c.spec, kTraining, "cpu").trainer, 2);
    EXPECT_NE(exact.models, one.models) << device;
    EXPECT_LT(largest_gap(one, exact), 0.1) << device;
  }
}

TEST(Trainers, DoNotMindWhoElseTrains) {
  const testing::Case c = testing::small_cases()[3];
  for (const char* device : {"cpu"}) {
    World world(c.task);
    const Learning learning = world.learning(c.spec, "sgd:lr=0.05,batch=4,steps=3", device, 2);
    world.run(*learning.trainer, 1);
    Vector alone = learning.trainer->initial_model();
    TrainJob job{3, alone, Random(4).fork("node", 3).fork("round", 0)};
    learning.trainer->train({&job, 1});
    EXPECT_EQ(alone, world.models[3]) << device;
  }
}

TEST(Trainers, LearnWhatIsThereToLearn) {
  for (const testing::Case& c : testing::small_cases()) {
    // Ratings are drawn at random here: a model can only learn them by heart.
    const bool by_heart = c.task.kind == Task::Kind::kRatings;
    const bool slow = c.task.kind == Task::Kind::kTokens;
    World world(c.task);
    const Learning learning = world.learning(
        c.spec, slow ? "sgd:lr=0.5,batch=8,steps=10" : "sgd:lr=0.05,batch=8,steps=10", "cpu", 2,
        200);
    const std::vector<float> first = world.run(*learning.trainer, 1);
    const std::vector<Score> before = world.scores(*learning.evaluator);
    const std::vector<float> last = world.run(*learning.trainer, by_heart ? 40 : 6);
    const std::vector<Score> after = world.scores(*learning.evaluator);
    for (NodeId node = 0; node < kNodes; ++node)
      EXPECT_LT(last[node], 0.8f * first[node]) << c.spec;
    if (!by_heart) {
      EXPECT_GT(after[4].accuracy, before[4].accuracy) << c.spec;
    }
  }
}

TEST(Evaluators, ScoreADivergedModelAsNotANumber) {
  for (const testing::Case& c : testing::small_cases()) {
    World world(c.task);
    testing::expect_divergence_is_scored(world, c.spec, "cpu");
  }
}

TEST(Evaluators, TestNodesOnTheirOwnSamples) {
  World world(testing::ratings(7, 9));
  testing::expect_own_samples_are_tested(world, "cpu");
}

TEST(Evaluators, TakeASubsetThatIsTheSameEveryTime) {
  const testing::Case c = testing::small_cases()[6];
  World world(c.task);
  const Learning some = world.learning(c.spec, "sgd", "cpu", 1, 100);
  const Learning again = world.learning(c.spec, "sgd", "cpu", 2, 100);
  const Learning all = world.learning(c.spec, "sgd", "cpu", 1, 5000);
  world.run(*some.trainer, 1);
  const Score of_some = world.scores(*some.evaluator)[0];
  EXPECT_EQ(of_some.loss, world.scores(*again.evaluator)[0].loss);
  EXPECT_NE(of_some.loss, world.scores(*all.evaluator)[0].loss);
  EXPECT_EQ(std::round(of_some.accuracy * 100), of_some.accuracy * 100);
}

TEST(MakeLearning, RefusesWhatDoesNotFit) {
  World world(testing::images(1, 28, 10));
  const auto refusal = [&](std::string_view model, std::string_view training,
                           std::string_view device) -> std::string {
    try {
      world.learning(model, training, device);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("cnn28", "sgd", "cpu"), "");
  EXPECT_NE(refusal("cnn29", "sgd", "cpu").find("Did you mean 'cnn28'?"), std::string::npos);
  EXPECT_NE(refusal("lstm", "sgd", "cpu").find("sequences of tokens"), std::string::npos);
  EXPECT_NE(refusal("cnn28", "sgd:lr=x", "cpu").find("lr"), std::string::npos);
  EXPECT_NE(refusal("cnn28", "sgd", "tpu").find("cpu, cuda"), std::string::npos);
  EXPECT_NE(refusal("cnn28", "sgd", "cpu:mode=fast").find("stacked"), std::string::npos);
  EXPECT_EQ(refusal("cnn28", "sgd", "cpu:precision=bf16").empty(), has_bf16());
  EXPECT_NE(refusal("logistic", "sgd", "cpu:precision=bf16").find("leave it out"),
            std::string::npos);
  EXPECT_NE(refusal("quadratic", "sgd", "cpu:precision=bf16").find("model quadratic has none"),
            std::string::npos);
  EXPECT_NE(refusal("quadratic", "adam", "cpu").find("model=quadratic knows no adam"),
            std::string::npos);
  EXPECT_NE(refusal("torchscript:file=my.pt", "sgd", "cpu").find("LibTorch"), std::string::npos);
  world.partition.train[2].clear();
  EXPECT_NE(refusal("cnn28", "sgd", "cpu").find("node 2 has no training samples"),
            std::string::npos);
}

TEST(MakeLearning, SaysWhatAProgramLacksForAGpu) {
  const auto refusal = [](std::span<const Backend> backends, std::string_view device) {
    World world(testing::images(1, 28, 10));
    world.backends = backends;
    try {
      world.learning("cnn28", "sgd", device);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string without = refusal({}, "cuda");
  EXPECT_NE(without.find("built without CUDA: build it where nvcc"), std::string::npos) << without;
  EXPECT_EQ(without.find("LibTorch"), std::string::npos) << without;
  // Kernels that do not know this model.
  constexpr Backend kKernels{.name = "CUDA",
                             .runs = [](const Model&, const DeviceOptions&) { return false; }};
  const std::string unknown = refusal({&kKernels, 1}, "cuda");
  EXPECT_NE(unknown.find("do not know needs LibTorch"), std::string::npos) << unknown;
  const std::string reference = refusal({&kKernels, 1}, "cpu:mode=reference");
  EXPECT_NE(reference.find("this mode of device=cpu needs LibTorch"), std::string::npos);
}

TEST(MakeLearning, SaysWhichPathAModelTakes) {
  const World world(testing::images(1, 28, 10));
  EXPECT_EQ(world.learning("cnn28", "sgd", "cpu").description,
            "cnn28, 28938 parameters, our CPU layers");
  EXPECT_EQ(world.learning("cnn28", "sgd", "cpu:convolution=winograd").description,
            "cnn28, 28938 parameters, our CPU layers, winograd");
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16";
  EXPECT_EQ(world.learning("cnn28", "sgd", "cpu:convolution=winograd,precision=bf16").description,
            "cnn28, 28938 parameters, our CPU layers, winograd, bf16");
  if (!has_amx()) return;
  EXPECT_EQ(world.learning("cnn28", "sgd", "cpu:convolution=amx,precision=bf16").description,
            std::string("cnn28, 28938 parameters, our CPU layers, ") +
                (amx_is_emulated() ? "AMX as AVX-512 emulates it, slowly" : "AMX") + ", bf16");
}

TEST(MakeLearning, TakesAModelThatNeedsNoData) {
  const Learning learning =
      make_learning({.nodes = 3, .model = parse_spec("quadratic:dimension=7"), .seed = 1});
  EXPECT_EQ(learning.trainer->dimension(), 7u);
  EXPECT_EQ(learning.description, "quadratic toy, 7 parameters");
  EXPECT_EQ(learning.data.train, nullptr);
}

TEST(Learning, ModelsAreExportedInTheFormatsNamed) {
  World world(testing::images(1, 6, 3));
  const Learning learning = world.learning("logistic", "sgd:lr=0.1,batch=4,steps=1", "cpu", 1);
  const auto names = [&](std::string_view formats) {
    std::string text;
    for (const Exporter* exporter : chosen_exporters(learning, formats))
      text += std::string(exporter->extension()) + ' ';
    return text;
  };
  EXPECT_EQ(names(""), "safetensors ");
  EXPECT_EQ(names("npz,safetensors"), "npz safetensors ");
  try {
    names("npz,onnx");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'onnx'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Known: safetensors, npz"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
