#include "learn/sgd.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "learn/testing.h"

namespace tessera {
namespace {

TEST(ParseTraining, ReadsWhatThePapersUse) {
  const SgdOptions sgd = parse_training("sgd:lr=0.05,batch=16,steps=128");
  EXPECT_FLOAT_EQ(sgd.lr, 0.05f);
  EXPECT_EQ(sgd.batch, 16u);
  EXPECT_EQ(sgd.steps, 128u);
  EXPECT_EQ(sgd.momentum, 0);
  EXPECT_EQ(sgd.weight_decay, 0);
}

TEST(ParseTraining, RefusesWhatCannotBe) {
  for (const char* spec : {"adam", "sgd:lr=0", "sgd:batch=0", "sgd:steps=-1", "sgd:momentum=2",
                           "sgd:learning_rate=0.1", "sgd:weight_decay=-1"})
    EXPECT_THROW(parse_training(spec), std::invalid_argument) << spec;
}

// 10 samples, batches of 4, 7 steps: passes of 4 + 4 + 2, each a shuffle of all ten.
TEST(DrawMinibatches, TakesEverySampleOncePerPass) {
  Random random(3);
  const auto steps = draw_minibatches(10, {.batch = 4, .steps = 7}, random);
  ASSERT_EQ(steps.size(), 7u);
  const std::size_t sizes[] = {4, 4, 2, 4, 4, 2, 4};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(steps[i].size(), sizes[i]);
  for (const std::size_t first : {0u, 3u}) {
    std::set<std::uint32_t> seen;
    for (std::size_t i = first; i < first + 3; ++i) seen.insert(steps[i].begin(), steps[i].end());
    EXPECT_EQ(seen.size(), 10u);
    EXPECT_LT(*seen.rbegin(), 10u);
  }
  EXPECT_NE(steps[0], steps[3]);  // Shuffled anew; equal once in 5,040 seeds.
}

TEST(DrawMinibatches, FitsNodesWithLessThanABatch) {
  Random random(3);
  const auto steps = draw_minibatches(3, {.batch = 8, .steps = 2}, random);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].size(), 3u);
  EXPECT_EQ(steps[1].size(), 3u);
}

TEST(ApplySgd, EqualsTheFormula) {
  struct Variant {
    float momentum, weight_decay;
  };
  for (const Variant v : {Variant{0, 0}, Variant{0.9f, 0}, Variant{0, 0.1f}, Variant{0.9f, 0.1f}}) {
    const SgdOptions sgd{.lr = 0.3f, .momentum = v.momentum, .weight_decay = v.weight_decay};
    Vector ours = testing::normals(50, Random(1)), velocity(v.momentum != 0 ? 50 : 0, 0.0f);
    std::vector<double> w(ours.begin(), ours.end()), u(50, 0.0);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const Vector gradient = testing::normals(50, Random(2).fork("step", step));
      apply_sgd(sgd, ours, gradient, velocity);
      for (std::size_t i = 0; i < 50; ++i) {
        u[i] = double{v.momentum} * u[i] + double{gradient[i]} + double{v.weight_decay} * w[i];
        w[i] -= double{sgd.lr} * u[i];
      }
    }
    const Vector expected(w.begin(), w.end());
    EXPECT_LT(testing::relative_gap(ours, expected), 1e-6) << v.momentum << " " << v.weight_decay;
  }
}

}  // namespace
}  // namespace tessera
