#include "data/sets/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/datasets.h"
#include "data/views.h"

namespace tessera {
namespace {

std::vector<float> sample(const Dataset& dataset, std::size_t i, std::size_t width) {
  std::vector<float> x(width);
  dataset.get(i, x);
  return x;
}

TEST(Synthetic, TheSeedDecidesEverything) {
  const auto first = [](const std::string& options) {
    return sample(*load_dataset("synthetic:samples=5,test=5" + options)->train, 4, 256);
  };
  EXPECT_EQ(first(""), first(",seed=1"));
  EXPECT_NE(first(""), first(",seed=2"));
  const Result<LoadedData> data = load_dataset("synthetic:samples=5,test=5");
  EXPECT_NE(sample(*data->train, 0, 256), sample(*data->test, 0, 256));
}

TEST(Synthetic, ShapesAreOneToThreeNumbers) {
  const auto shape = [](const std::string& text) {
    return load_dataset("synthetic:samples=2,test=2,shape=" + text)->task.shape;
  };
  EXPECT_EQ(shape("32"), (std::vector<std::uint32_t>{1, 1, 32}));
  EXPECT_EQ(shape("8/9"), (std::vector<std::uint32_t>{1, 8, 9}));
  EXPECT_EQ(shape("3/32/32"), (std::vector<std::uint32_t>{3, 32, 32}));
  EXPECT_THROW(shape("1/2/3/4"), std::invalid_argument);
  EXPECT_THROW(shape("3/4096/4096"), std::invalid_argument);
}

// Ten classes: the mean image of each class, learnt from 2,000 samples, must name more than a third
// of 500 others right (chance is a tenth) and fewer than nine in ten, or there is nothing to see.
TEST(Synthetic, IsLearnableButNotTrivial) {
  const Result<LoadedData> data = load_dataset("synthetic:samples=2000,test=500");
  const std::size_t width = data->task.features();
  std::vector<std::vector<double>> means(10, std::vector<double>(width, 0));
  std::vector<double> counts(10, 0);
  std::vector<float> x(width);
  for (std::size_t i = 0; i < data->train->size(); ++i) {
    const auto label = static_cast<std::size_t>(data->train->get(i, x));
    ++counts[label];
    for (std::size_t k = 0; k < width; ++k) means[label][k] += x[k];
  }
  int right = 0;
  for (std::size_t i = 0; i < data->test->size(); ++i) {
    const auto label = static_cast<std::size_t>(data->test->get(i, x));
    std::size_t best = 0;
    double nearest = 1e300;
    for (std::size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (std::size_t k = 0; k < width; ++k)
        distance += std::pow(x[k] - means[c][k] / counts[c], 2);
      if (distance < nearest) nearest = distance, best = c;
    }
    right += best == label;
  }
  EXPECT_GT(right, 167);
  EXPECT_LT(right, 450);
}

TEST(Synthetic, UsersHaveFavouriteClasses) {
  const Result<LoadedData> data = load_dataset("synthetic:samples=2000,test=10,users=5,classes=5");
  ASSERT_EQ(data->train_users.size(), 2000u);
  ASSERT_EQ(data->test_users.size(), 10u);
  const std::vector<std::uint32_t> labels = labels_of(*data->train, data->task);
  int favourite = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) favourite += labels[i] == data->train_users[i];
  EXPECT_NEAR(favourite, 0.6 * 2000, 100);
}

}  // namespace
}  // namespace tessera
