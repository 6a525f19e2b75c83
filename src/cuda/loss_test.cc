// Losses and scores beside plain loops and learn's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cuda/for_tests.h"
#include "cuda/kernels.h"
#include "cuda/poisoned_for_tests.h"
#include "learn/score.h"

namespace tessera::cuda {
namespace {

constexpr std::size_t kNodes = 3, kSamples = 90;

// Classes, or ratings where there are none.
Numbers targets_of(std::uint32_t classes) {
  Numbers targets(kSamples, 1);
  Random random(1);
  for (float& target : targets.host)
    target = static_cast<float>(random.below(classes > 0 ? classes : 6));
  targets.send();
  return targets;
}

// Two samples more than a block has threads, of which some weigh nothing.
struct Batch {
  static constexpr std::size_t kBatch = 130, kRows = kNodes * kBatch;

  explicit Batch(std::uint32_t its_classes)
      : classes(its_classes), width(std::max(1u, classes)), targets(targets_of(classes)) {
    for (std::size_t row = 0; row < kRows; ++row)
      weights.host[row] = row % 9 == 4 ? 0 : 1.0f / kBatch;
    weights.send();
  }
  void run(float share, const Poisoned& d_outputs, const Numbers& losses) const {
    loss_and_gradient({.nodes = static_cast<int>(kNodes), .batch = static_cast<int>(kBatch)},
                      {.classes = static_cast<int>(classes),
                       .targets = targets.device(),
                       .chosen = device_chosen.data(),
                       .weights = weights.device(),
                       .share = share},
                      outputs.device(), d_outputs.device(), losses.device());
  }

  std::uint32_t classes;
  std::size_t width;
  Numbers targets, weights{kRows, 2}, outputs{kRows * width, 3};
  std::vector<std::uint32_t> chosen = drawn_below(kSamples, kRows, 4);
  DeviceArray<std::uint32_t> device_chosen = sent(chosen);
};

TEST(CudaLoss, OfClassesAndItsGradient) {
  SKIP_WITHOUT_GPU();
  for (const std::uint32_t classes : {2u, 62u}) {
    const Batch all(classes);
    const Poisoned d_outputs(Batch::kRows * all.width);
    const Numbers losses(kNodes, 5);
    all.run(0.25f, d_outputs, losses);
    Doubles gradient(Batch::kRows * all.width), wanted(losses.host.begin(), losses.host.end());
    for (std::size_t row = 0; row < Batch::kRows; ++row) {
      const float* const out = &all.outputs.host[row * all.width];
      const double weight = double{all.weights.host[row]};
      const auto target = static_cast<std::size_t>(all.targets.host[all.chosen[row]]);
      double sum = 0;
      for (std::size_t c = 0; c < all.width; ++c) sum += std::exp(double{out[c]});
      for (std::size_t c = 0; c < all.width; ++c)
        gradient[row * all.width + c] =
            weight * (std::exp(double{out[c]}) / sum - (c == target ? 1 : 0));
      wanted[row / Batch::kBatch] += 0.25 * weight * (std::log(sum) - double{out[target]});
    }
    EXPECT_LT(error_of(d_outputs.back(), gradient), 1e-6);
    EXPECT_LT(error_of(losses.back(), wanted), 1e-6);
  }
}

// Squared errors are added in the samples' order, so plain floats come to the same bits.
TEST(CudaLoss, OfRatingsAndItsGradientToTheBit) {
  SKIP_WITHOUT_GPU();
  const Batch all(0);
  const Poisoned d_outputs(Batch::kRows);
  Numbers losses(kNodes, 5);
  std::fill(losses.host.begin(), losses.host.end(), 0.0f);
  losses.send();
  all.run(1, d_outputs, losses);
  Vector gradient, wanted(kNodes);
  for (std::size_t row = 0; row < Batch::kRows; ++row) {
    const float error = all.outputs.host[row] - all.targets.host[all.chosen[row]];
    const float weight = all.weights.host[row];
    gradient.push_back(2 * error * weight);
    wanted[row / Batch::kBatch] += weight * error * error;
  }
  EXPECT_EQ(d_outputs.back(), gradient);
  EXPECT_EQ(losses.back(), wanted);
}

// Lists of samples as an evaluation has them, which it takes in batches. What does not count was
// never computed.
struct Scored {
  static constexpr std::size_t kLength = 308;  // 44 times 7.

  explicit Scored(const Task& its_task)
      : task(its_task), width(std::max(1u, task.classes)), targets(targets_of(task.classes)) {
    for (std::size_t row = 0; row < kNodes * kLength; ++row) {
      counted.push_back(row % 11 != 5 && row % kLength < 300);
      if (!counted.back())
        std::fill_n(outputs.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                    std::numeric_limits<float>::quiet_NaN());
    }
    device_counted = sent(counted);
  }
  ScoreSum wanted(std::size_t node) const {
    Vector own_outputs, own_targets;
    for (std::size_t row = node * kLength; row < (node + 1) * kLength; ++row) {
      if (!counted[row]) continue;
      own_outputs.insert(own_outputs.end(), &outputs[row * width], &outputs[row * width] + width);
      own_targets.push_back(targets.host[chosen[row]]);
    }
    return score_outputs(task, own_outputs, own_targets);
  }
  // {loss, right, count} of every node.
  Doubles in_batches_of(std::size_t batch) const {
    const Stream stream;
    const DeviceArray<double> sums(3 * kNodes);
    stream.clear(sums.data(), 3 * kNodes * sizeof(double));
    for (std::size_t start = 0; start < kLength; start += batch) {
      Vector part;
      for (std::size_t node = 0; node < kNodes; ++node) {
        const float* const first = &outputs[(node * kLength + start) * width];
        part.insert(part.end(), first, first + batch * width);
      }
      const DeviceArray<float> device_part = sent(part);
      add_scores({.stream = stream.get(),
                  .nodes = static_cast<int>(kNodes),
                  .batch = static_cast<int>(batch)},
                 {.classes = static_cast<int>(task.classes),
                  .targets = targets.device(),
                  .chosen = device_chosen.data() + start,
                  .counted = device_counted.data() + start,
                  .chosen_stride = kLength,
                  .ratings = {kLowestRating, kHighestRating, kRatingTolerance}},
                 device_part.data(), sums.data());
      stream.wait();
    }
    Doubles found(3 * kNodes);
    stream.download(found.data(), sums.data(), found.size() * sizeof(double));
    stream.wait();
    return found;
  }

  Task task;
  std::size_t width;
  Numbers targets;
  Vector outputs = testing::normals(kNodes * kLength * width, Random(6));
  std::vector<std::uint8_t> counted{};
  DeviceArray<std::uint8_t> device_counted{};
  std::vector<std::uint32_t> chosen = drawn_below(kSamples, kNodes* kLength, 7);
  DeviceArray<std::uint32_t> device_chosen = sent(chosen);
};

TEST(CudaScores, AreTheCpusAndThoseOfBatchesOfAnySize) {
  SKIP_WITHOUT_GPU();
  for (const Task& task :
       {testing::images(1, 4, 2), testing::images(1, 4, 62), testing::ratings(7, 9)}) {
    SCOPED_TRACE(task.classes);
    const Scored all(task);
    const Doubles found = all.in_batches_of(Scored::kLength);
    for (std::size_t node = 0; node < kNodes; ++node) {
      const ScoreSum wanted = all.wanted(node);
      // exp and log of doubles are the GPU's own.
      EXPECT_NEAR(found[3 * node], wanted.loss, 1e-13 * wanted.loss);
      EXPECT_EQ(found[3 * node + 1], wanted.right);
      EXPECT_EQ(found[3 * node + 2], wanted.count);
      EXPECT_GT(wanted.right, 0);
    }
    for (const std::size_t batch : {44u, 7u}) EXPECT_EQ(all.in_batches_of(batch), found);
  }
}

}  // namespace
}  // namespace tessera::cuda
