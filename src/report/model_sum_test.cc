#include "report/model_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace tessera {
namespace {

// Scores a model by its first value; nodes with samples of their own multiply it by their number.
class FirstValue final : public Evaluator {
 public:
  explicit FirstValue(bool own_samples) : own_samples_(own_samples) {}
  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    evaluated += nodes.size();
    std::vector<Score> scores;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double value = double{models[i][0]} * (own_samples_ ? nodes[i] : 1);
      scores.push_back({.accuracy = value, .loss = -value});
    }
    return scores;
  }
  bool own_samples() const override { return own_samples_; }

  std::size_t evaluated = 0;

 private:
  bool own_samples_;
};

TEST(ModelSum, IsTheMeanAndTheDistanceFromIt) {
  ModelSum sum;
  sum.add(Vector{3, 0, 1});
  sum.add(Vector{1, 2, 1});
  sum.add(Vector{2, 4, 4});
  EXPECT_EQ(sum.mean(), (Vector{2, 2, 2}));
  // Squared distances 1 + 4 + 1, 1 + 0 + 1 and 0 + 4 + 4.
  EXPECT_DOUBLE_EQ(sum.distance(), std::sqrt(16.0 / 3));
}

// Where differences are a millionth of the values, squares of the values would have no digit of
// them.
TEST(ModelSum, KeepsTheDigitsOfModelsThatAgree) {
  ModelSum sum;
  for (const float step : {0.f, 1.f, 2.f, 3.f}) {
    Vector model(1000);
    for (std::size_t i = 0; i < model.size(); ++i)
      model[i] = 1000.f + static_cast<float>(i) + step / 1024;
    sum.add(model);
  }
  EXPECT_NEAR(sum.distance(), std::sqrt(1.25 * 1000) / 1024, 1e-12);
}

TEST(ModelSum, IsTheSameSavedAndRestored) {
  Random random(4);
  ModelSum whole, half;
  for (int i = 0; i < 6; ++i) {
    Vector model(37);
    for (float& value : model) value = static_cast<float>(random.normal());
    whole.add(model);
    half.add(model);
    Bytes saved;
    save_fields(half, saved);
    ModelSum restored;
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(restored, in).ok());
    half = restored;
  }
  EXPECT_EQ(half.mean(), whole.mean());
  EXPECT_EQ(half.distance(), whole.distance());
}

TEST(MergedFigures, AreOfOneModelOrOfEveryNodesOwnSamples) {
  ModelSum sum;
  sum.add(Vector{3, 4});
  sum.add(Vector{3, 4});
  const std::vector<NodeId> nodes = {1, 3};
  FirstValue together(false), apart(true);
  const auto one = merged_figures(sum, nodes, together);
  EXPECT_EQ(together.evaluated, 1u);
  EXPECT_EQ(one->score.accuracy, 3);
  EXPECT_EQ(one->distance, 0);
  EXPECT_EQ(one->relative_distance, 0);
  const auto each = merged_figures(sum, nodes, apart);
  EXPECT_EQ(apart.evaluated, 2u);
  EXPECT_EQ(each->score.accuracy, 6);  // The mean of 3 and 9.
  EXPECT_EQ(each->score.loss, -6);
  EXPECT_FALSE(merged_figures(ModelSum(), {}, apart).has_value());
}

TEST(MergedFigures, AreRelativeToTheMeansNorm) {
  ModelSum sum;
  sum.add(Vector{3, 5});
  sum.add(Vector{3, 3});
  FirstValue evaluator(false);
  const std::vector<NodeId> nodes = {0, 1};
  const auto merged = merged_figures(sum, nodes, evaluator);
  EXPECT_DOUBLE_EQ(merged->distance, 1);
  EXPECT_DOUBLE_EQ(merged->relative_distance, 0.2);
}

}  // namespace
}  // namespace tessera
