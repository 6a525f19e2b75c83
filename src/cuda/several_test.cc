// Nodes divided among GPUs: one card that is named several times stands for several.
#include "cuda/several.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/archive.h"
#include "cuda/backend.h"
#include "cuda/for_tests.h"
#include "cuda/kernels.h"
#include "cuda/layer.h"
#include "learn/testing_world.h"

namespace tessera::cuda {
namespace {

using testing::LearningWorld;

constexpr const char* kTraining = "sgd:lr=0.02,batch=4,steps=3,momentum=0.9";

LearningWorld world_of(const Task& task) {
  LearningWorld world(task);
  world.backends = {&cuda_backend(), 1};
  return world;
}

Bytes state_of(const Learning& learning) {
  Bytes state;
  save_fields(*learning.trainer, state);
  return state;
}

constexpr const char* kSeveral[] = {"cuda:0/0", "cuda:0/0/0/0/0/0/0",
                                    "cuda:0/0/0,chunk=1,memory=4KiB"};

// Five nodes on two, three and seven: some get more, some none. With next to no memory, models are
// tested on eight samples at a time.
TEST(SeveralGpus, MakeTheModelsOfOne) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases()) {
    if (!missing_in(build_model(c.spec, c.task).layers).empty()) continue;
    LearningWorld one = world_of(c.task);
    const Learning alone = one.learning(c.spec, kTraining, "cuda", 1, kTested);
    const std::vector<float> losses = one.run(*alone.trainer, 3);
    const std::vector<Score> scores = one.scores(*alone.evaluator);
    for (const char* device : some_of(kSeveral)) {
      SCOPED_TRACE(fmt::format("{} {}", c.spec, device));
      LearningWorld several = world_of(c.task);
      const Learning divided = several.learning(c.spec, kTraining, device, 1, kTested);
      EXPECT_EQ(several.run(*divided.trainer, 3), losses);
      EXPECT_EQ(several.models, one.models);
      EXPECT_EQ(state_of(divided), state_of(alone));
      const std::vector<Score> found = several.scores(*divided.evaluator);
      ASSERT_EQ(found.size(), scores.size());
      for (std::size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(found[i].accuracy, scores[i].accuracy);
        EXPECT_EQ(found[i].loss, scores[i].loss);
      }
    }
  }
}

TEST(SeveralGpus, GoOnWithWhatOneSaved) {
  SKIP_WITHOUT_GPU();
  LearningWorld one = world_of(testing::images(3, 16, 10)), two = one;
  const Learning alone = one.learning("gn-lenet", kTraining, "cuda", 1, kTested),
                 divided = two.learning("gn-lenet", kTraining, "cuda:0/0");
  one.run(*alone.trainer, 2);
  const Bytes saved = state_of(alone);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(*divided.trainer, in).ok());
  EXPECT_EQ(one.run(*alone.trainer, 1), two.run(*divided.trainer, 1));
  EXPECT_EQ(one.models, two.models);
}

TEST(SeveralGpus, DivideTheMemory) {
  SKIP_WITHOUT_GPU();
  DeviceOptions device = parse_device("cuda:memory=6GiB");
  EXPECT_EQ(memory_for(device), std::uint64_t{6} << 30);
  device.sharers = 2;
  EXPECT_EQ(memory_for(device), std::uint64_t{3} << 30);
}

TEST(SeveralGpus, SayHowLongTheyComputed) {
  SKIP_WITHOUT_GPU();
  for (const char* device : {"cuda", "cuda:0/0"}) {
    LearningWorld world = world_of(testing::images(3, 16, 10));
    const Learning learning = world.learning("gn-lenet", kTraining, device, 1, kTested);
    ASSERT_TRUE(learning.gpu_use);
    EXPECT_EQ(learning.gpu_use().gpus, 1u);
    EXPECT_EQ(learning.gpu_use().busy_s, 0);
    world.run(*learning.trainer, 2);
    const double trained_s = learning.gpu_use().busy_s;
    EXPECT_GT(trained_s, 0);
    world.scores(*learning.evaluator);
    EXPECT_GT(learning.gpu_use().busy_s, trained_s);
  }
}

TEST(SeveralGpus, OneThatIsNotThereIsNamed) {
  SKIP_WITHOUT_GPU();
  const LearningWorld world = world_of(testing::images(1, 13, 10));
  try {
    world.learning("cnn28", "sgd", "cuda:0/1000");
    FAIL();
  } catch (const std::invalid_argument& refused) {
    const std::string_view said = refused.what();
    EXPECT_TRUE(said.starts_with("device: there is no GPU 1000: ")) << said;
    EXPECT_NE(said.find("device=cuda:0"), said.npos) << said;
  }
}

TEST(SeveralGpus, TooManyNodesAtOnceAreRefusedWithHowManyWouldFit) {
  try {
    refuse_for_room({.what = "evaluating",
                     .model = "gn-lenet",
                     .nodes = 100,
                     .bytes_each = std::uint64_t{1} << 30},
                    std::uint64_t{7} << 30);
  } catch (const OutOfMemory& refused) {
    EXPECT_STREQ(refused.what(),
                 "device: evaluating 100 nodes of gn-lenet takes 100.00 GiB of the GPU's memory "
                 "and 7.00 are free: 7 would fit; use device=cuda:chunk=7");
  }
  try {
    refuse_for_room({.what = "training",
                     .model = "gn-lenet",
                     .nodes = 100,
                     .bytes_each = std::uint64_t{1} << 30,
                     .in_flight = 2},
                    std::uint64_t{7} << 30);
  } catch (const OutOfMemory& refused) {
    EXPECT_STREQ(refused.what(),
                 "device: training 100 nodes of gn-lenet takes 100.00 GiB of the GPU's memory and "
                 "7.00 are free: 7 would fit, 2 chunks at a time; use device=cuda:chunk=3");
  }
}

TEST(SeveralGpus, AnEvaluationThatDoesNotFitSaysWhatWould) {
  SKIP_WITHOUT_GPU();
  const LearningWorld world = world_of(testing::images(3, 16, 10));
  const Learning learning = world.learning("gn-lenet", kTraining, "cuda:chunk=1000000");
  const std::size_t left = gpu_memory().free_bytes, kept = std::size_t{1} << 28;
  const DeviceArray<std::byte> taken(left > kept ? left - kept : 0);
  const Vector model = learning.trainer->initial_model();
  const std::vector<NodeId> nodes(4096, 0);
  const std::vector<std::span<const float>> models(nodes.size(), model);
  try {
    learning.evaluator->evaluate(nodes, models);
    FAIL();
  } catch (const OutOfMemory& refused) {
    const std::string_view said = refused.what();
    EXPECT_TRUE(said.starts_with("device: evaluating 4096 nodes of gn-lenet takes ")) << said;
    EXPECT_NE(said.find(" would fit; use device=cuda:chunk="), said.npos) << said;
  }
}

// A kernel that reads what is not there spoils the GPU for the whole process: a process of its own.
[[noreturn]] void train_on_a_sick_gpu(const char* device) {
  int code = 1;
  try {
    LearningWorld world = world_of(testing::images(3, 16, 10));
    const Learning learning = world.learning("gn-lenet", kTraining, device, 1, kTested);
    world.run(*learning.trainer, 1);
    const Stream stream;
    DeviceArray<std::uint32_t> map(1);
    stream.clear(map.data(), sizeof(std::uint32_t));
    const auto nowhere = static_cast<std::uintptr_t>(0x100);
    gather(stream.get(), 1, map.data(), 1, reinterpret_cast<const float*>(nowhere), 1,
           reinterpret_cast<float*>(nowhere));
    world.run(*learning.trainer, 1);
  } catch (const DeviceFailed& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    code = 7;
  }
  std::exit(code);
}

TEST(SeveralGpusDeathTest, AGpuThatFailsIsSaidAndItsMemoryLetGoInPeace) {
  SKIP_WITHOUT_GPU();
  if (kEmulated) GTEST_SKIP() << "what an emulated GPU reads from nowhere ends the program";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* device : {"cuda", "cuda:0/0"})
    EXPECT_EXIT(train_on_a_sick_gpu(device), ::testing::ExitedWithCode(7),
                "device: .*failed at .*cudaError");
}

}  // namespace
}  // namespace tessera::cuda
