// The optimizers' options on the GPU: kernels beside learn's own functions, and whole rounds beside
// the CPU trainer.
#include "learn/optimizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/augmented_images.h"
#include "cuda/backend.h"
#include "cuda/for_tests.h"
#include "cuda/optimizer_rows.h"
#include "learn/testing_world.h"

namespace tessera::cuda {
namespace {

using testing::LearningWorld;

// A large epsilon: where a gradient is next to nothing, Adam's step is as long as any, and rounding
// decides which way it goes.
constexpr const char* kLines[] = {
    "sgd:lr=0.02,batch=4,steps=2,momentum=0.9,nesterov=yes",
    "sgd:lr=0.05,batch=4,steps=3,clip=0.1",
    "sgd:lr=0.05,batch=4,steps=3,schedule=step,every=2,factor=0.5,warmup=2",
    "sgd:lr=0.05,batch=4,steps=3,schedule=cosine,length=9,momentum=0.5,weight_decay=0.01",
    "adam:lr=0.01,batch=4,steps=3,epsilon=0.001,weight_decay=0.01",
    "adamw:lr=0.01,batch=4,steps=3,epsilon=0.001,clip=0.5,schedule=linear,length=8,warmup=1"};

constexpr std::size_t kNodes = 3;

template <typename T>
DeviceArray<T> on_device(const std::vector<T>& values) {
  DeviceArray<T> memory(values.size());
  upload_now(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

// Nodes' rows of two tensors, one with its gradient in three parts, and the pieces of a list.
struct Rows2 {
  static constexpr std::size_t kFirst = 1024 + 36, kSecond = 70, kAll = 1060 + 72;

  Rows2() {
    const Gradient first{.first = 0,
                         .size = 1024,
                         .parts = parts.device(),
                         .count = 3,
                         .node_stride = 3 * kFirst,
                         .part_stride = kFirst};
    Gradient rest = first, other = first;
    rest.first = 1024;
    rest.size = kFirst - 1024;
    rest.parts += 1024;
    other = {.first = kFirst,
             .size = kSecond,
             .parts = last.device(),
             .node_stride = kSecond,
             .part_stride = kSecond};
    pieces = on_device(std::vector<Gradient>{first, rest, other});
  }
  GradientList list() const { return {pieces.data(), static_cast<int>(pieces.size())}; }
  Pass pass() const { return {.nodes = static_cast<int>(kNodes), .dimension = kAll}; }
  Vector gradient(std::size_t node) const {
    Vector sum(kAll);
    for (std::size_t i = 0; i < kFirst; ++i)
      for (std::size_t part = 0; part < 3; ++part)
        sum[i] += parts.host[(node * 3 + part) * kFirst + i];
    std::copy_n(&last.host[node * kSecond], kSecond, &sum[kFirst]);
    return sum;
  }

  Numbers parts{kNodes * 3 * kFirst, 1}, last{kNodes * kSecond, 2}, parameters{kNodes * kAll, 3},
      first{kNodes * kAll, 4}, second{kNodes * kAll, 5};
  DeviceArray<Gradient> pieces{};
};

TEST(CudaOptimizers, StepAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  for (const char* line : kLines) {
    SCOPED_TRACE(line);
    const TrainingOptions training = parse_training(line);
    Rows2 rows;
    for (float& value : rows.second.host) value *= value;
    rows.second.send();
    std::vector<StepRates> rates;
    for (std::size_t node = 0; node < kNodes; ++node)
      rates.push_back(step_rates(training, 2 * node));
    const DeviceArray<StepRates> device_rates = on_device(rates);
    const DeviceArray<double> squares(kNodes * rows.pieces.size());
    const DeviceArray<float> scales(kNodes);
    Descent descent =
        OptimizerRows(training, std::make_shared<std::vector<OptimizerState>>(), kNodes).descent();
    descent.rates = device_rates.data();
    if (training.clip > 0)
      clip_scales(rows.pass(), training.clip, rows.list(), squares.data(), scales.data());
    descend(rows.pass(), descent, rows.list(), training.clip > 0 ? scales.data() : nullptr,
            rows.parameters.device(), {rows.first.device(), rows.second.device()});
    const Vector got = rows.parameters.back();
    for (std::size_t node = 0; node < kNodes; ++node) {
      const auto own = [&](Vector& all) {
        return std::span(all).subspan(node * Rows2::kAll, Rows2::kAll - 2);
      };
      Vector gradient = rows.gradient(node);
      gradient.resize(Rows2::kAll - 2);
      const float scale = training.clip > 0 ? clip_scale(training.clip, gradient) : 1;
      OptimizerStep(training, 2 * node, scale)
          .apply(own(rows.parameters.host), gradient,
                 {own(rows.first.host), own(rows.second.host)});
      EXPECT_LT(testing::relative_gap(std::span(got).subspan(node * Rows2::kAll, Rows2::kAll - 2),
                                      own(rows.parameters.host)),
                1e-6);
    }
    if (training.moments() > 0) {
      EXPECT_LT(testing::relative_gap(rows.first.back(), rows.first.host), 1e-6);
    }
    if (training.moments() > 1) {
      EXPECT_LT(testing::relative_gap(rows.second.back(), rows.second.host), 1e-6);
    }
  }
}

TEST(CudaOptimizers, ImagesMoveAsOnTheCpu) {
  SKIP_WITHOUT_GPU();
  const Task task{.kind = Task::Kind::kImages, .shape = {3, 7, 5}, .classes = 2};
  const AugmentOptions options{.flip = true, .crop = 2};
  constexpr std::size_t kBatch = 6, kWidth = 3 * 7 * 5, kPixels = 7 * 5;
  const Numbers images(kNodes * kBatch * kWidth, 1);
  AugmentedImages augmented(options, task);
  augmented.fit(kNodes * kBatch, kNodes * kBatch);
  for (std::size_t node = 0; node < kNodes; ++node)
    augmented.draw(node * kBatch, kBatch, Random(9).fork("augment", node));
  const Stream stream;
  augmented.upload(stream, kNodes * kBatch);
  const Pass pass{
      .stream = stream.get(), .nodes = static_cast<int>(kNodes), .batch = static_cast<int>(kBatch)};
  const Rows moved = augmented.moved(pass, {.data = images.device(), .width = kWidth}, 0);
  Vector got(images.host.size());
  stream.download(got.data(), moved.data, got.size() * sizeof(float));
  stream.wait();
  Augment augment(options, task);
  for (std::size_t node = 0; node < kNodes; ++node) {
    Random random = Random(9).fork("augment", node);
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t first = (node * kBatch + i) * kWidth;
      Vector image(kWidth);  // [channel][pixel], as the CPU has it.
      for (std::size_t at = 0; at < kWidth; ++at)
        image[at] = images.host[first + at % kPixels * 3 + at / kPixels];
      augment.apply(image, random);
      for (std::size_t at = 0; at < kWidth; ++at)
        ASSERT_EQ(got[first + at % kPixels * 3 + at / kPixels], image[at]);
    }
  }
}

LearningWorld world_on_gpu(const Task& task) {
  LearningWorld world(task);
  world.backends = {&cuda_backend(), 1};
  return world;
}

void expect_the_cpus_rounds(const testing::Case& c, const char* line) {
  SCOPED_TRACE(fmt::format("{} {}", c.spec, line));
  LearningWorld cpu = world_on_gpu(c.task), gpu = world_on_gpu(c.task),
                chunked = world_on_gpu(c.task);
  const Learning on_cpu = cpu.learning(c.spec, line, "cpu", 1, kTested);
  const Learning on_gpu = gpu.learning(c.spec, line, "cuda:precision=fp32", 1, kTested);
  const Learning in_chunks = chunked.learning(c.spec, line, "cuda:precision=fp32,chunk=2");
  const std::vector<float> wanted = cpu.run(*on_cpu.trainer, 3);
  const std::vector<float> losses = gpu.run(*on_gpu.trainer, 3);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], wanted[i], 1e-4);
  EXPECT_LT(largest_gap(gpu, cpu), 1e-4);
  EXPECT_EQ(chunked.run(*in_chunks.trainer, 3), losses);
  EXPECT_EQ(chunked.models, gpu.models);
}

TEST(CudaOptimizers, TrainAsTheCpuDoesInChunksOfAnySize) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases())
    if (c.spec.starts_with("mlp") || c.spec.starts_with("matrix"))
      for (const char* line : kLines) expect_the_cpus_rounds(c, line);
}

TEST(CudaOptimizers, FlipsAndCropsAreTheCpus) {
  SKIP_WITHOUT_GPU();
  for (const testing::Case& c : testing::small_cases())
    if (c.spec.starts_with("mlp") || c.spec == "cnn28")
      for (const char* line : {"sgd:lr=0.02,batch=4,steps=3,flip=yes,crop=2",
                               "sgd:lr=0.02,batch=4,steps=3,crop=1,momentum=0.5"})
        expect_the_cpus_rounds(c, line);
}

// A checkpoint after the first of two rounds holds all that the second needs.
TEST(CudaOptimizers, GoOnFromWhatIsSaved) {
  SKIP_WITHOUT_GPU();
  const testing::Case c{"mlp:hidden=20/12", testing::images(1, 6, 3)};
  for (const char* line : kLines) {
    SCOPED_TRACE(line);
    LearningWorld world = world_on_gpu(c.task);
    const Learning learning = world.learning(c.spec, line, "cuda", 1, kTested);
    world.run(*learning.trainer, 1);
    Bytes saved;
    save_fields(*learning.trainer, saved);
    const Learning again = world.learning(c.spec, line, "cuda", 1, kTested);
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(*again.trainer, in).ok());
    EXPECT_EQ(in.left(), 0u);
    Vector first = world.models[2], second = world.models[2];
    TrainJob job{2, first, Random(5)}, same{2, second, Random(5)};
    learning.trainer->train({&job, 1});
    again.trainer->train({&same, 1});
    EXPECT_EQ(first, second);
  }
}

// GPU or no GPU.
TEST(CudaOptimizers, OnlyImagesAreFlipped) {
  const LearningWorld world = world_on_gpu(testing::ratings(7, 9));
  EXPECT_THROW(world.learning("matrix-factorization", "sgd:flip=yes", "cuda"),
               std::invalid_argument);
}

}  // namespace
}  // namespace tessera::cuda
