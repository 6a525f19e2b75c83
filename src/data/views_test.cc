#include "data/views.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>
#include <string>

#include "data/stores.h"

namespace tessera {
namespace {

// Three samples of two bytes.
std::shared_ptr<const Dataset> three() {
  return std::make_shared<ByteSamples>(2, std::vector<std::uint8_t>{0, 255, 1, 2, 128, 127},
                                       std::vector<float>{5, 6, 7});
}

TEST(Stores, GiveBackWhatTheyHold) {
  std::vector<float> x(2);
  EXPECT_EQ(three()->get(1, x), 6);
  EXPECT_EQ(x, (std::vector<float>{1, 2}));
  const FloatSamples floats(2, std::vector<float>{0.5f, -1, 3, 4}, std::vector<float>{1, 2});
  EXPECT_EQ(floats.size(), 2u);
  EXPECT_EQ(floats.get(1, x), 2);
  EXPECT_EQ(x, (std::vector<float>{3, 4}));
}

// Whoever needs the targets alone does not wait for the features of a whole dataset.
TEST(Views, TargetsComeWithoutFeaturesToo) {
  const auto floats = std::make_shared<FloatSamples>(2, std::vector<float>{0.5f, -1, 3, 4},
                                                     std::vector<float>{1, 2});
  const auto scaled = std::make_shared<Normalized>(three(), Normalization{.divisor = 255});
  const auto joined = std::make_shared<Joined>(std::vector<std::shared_ptr<const Dataset>>{
      floats, std::make_shared<Subset>(scaled, Indices{2, 0})});
  const FlippedLabels flipped(joined, 10, {false, true, false, true});
  std::vector<float> x(2);
  for (std::size_t i = 0; i < flipped.size(); ++i)
    EXPECT_EQ(flipped.get(i, {}), flipped.get(i, x)) << i;
  EXPECT_EQ(labels_of(flipped, Task{.shape = {2}, .classes = 10}),
            (std::vector<std::uint32_t>{1, 7, 7, 4}));
}

std::string refusal(const std::string& spec) {
  try {
    Options options(parse_spec(spec));
    scale_option(options, "signed");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "taken";
}

TEST(Views, AMeanAndADeviationOfYourOwn) {
  Options options(parse_spec("set:mean=0.25,deviation=0.125"));
  EXPECT_EQ(scale_option(options, "signed"),
            (Normalization{.divisor = 255, .mean = 0.25f, .deviation = 0.125f}));
  EXPECT_EQ(refusal("set:deviation=1e-46"), "set: deviation: 1e-46 must be in [1e-06, 1]");
}

TEST(Views, PixelsThatStayAsTheyAreHaveNoMean) {
  for (const std::string_view key : {"mean", "deviation"})
    EXPECT_EQ(
        refusal(fmt::format("set:scale=raw,{}=0.25", key)),
        fmt::format("set: {}: 0.25 is of pixels from 0 to 1, and scale=raw leaves them from 0 "
                    "to 255: say scale=unit, or leave it out",
                    key));
}

TEST(StoresDeath, AnIndexPastTheEndIsOurBug) {
  std::vector<float> x(2);
  EXPECT_DEATH(three()->get(3, x), "index < size\\(\\)");
  EXPECT_DEATH(Subset(three(), {3}), "index < whole_->size\\(\\)");
}

TEST(Views, ASubsetKeepsItsOrderAndMayRepeat) {
  const Subset subset(three(), {2, 0, 2});
  std::vector<float> x(2);
  EXPECT_EQ(subset.size(), 3u);
  EXPECT_EQ(subset.get(0, x), 7);
  EXPECT_EQ(subset.get(1, x), 5);
  EXPECT_EQ(subset.get(2, x), 7);
  EXPECT_EQ(x, (std::vector<float>{128, 127}));
}

// PyTorch divides by 255, subtracts 0.5 and divides by 0.5, each rounded to float: -1, 1 and, for a
// pixel of 128, 0.0039215088 (0x3b808100).
TEST(Views, SignedScaleHasPyTorchsBits) {
  Options options(parse_spec("x"));
  const Normalized signed_view(three(), scale_option(options, "signed"));
  std::vector<float> x(2);
  signed_view.get(0, x);
  EXPECT_EQ(x, (std::vector<float>{-1, 1}));
  signed_view.get(2, x);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(x[0]), 0x3b808100u);
}

TEST(Views, ScaleIsOneOfThree) {
  Options options(parse_spec("cifar10:scale=uint"));
  EXPECT_THROW(scale_option(options, "signed"), std::invalid_argument);
  Options unit(parse_spec("cifar10:scale=unit"));
  EXPECT_EQ(scale_option(unit, "signed").divisor, 255);
}

TEST(Views, SpreadCoversTheWholeEvenly) {
  EXPECT_EQ(spread(10, 5), (Indices{0, 2, 4, 6, 8}));
  EXPECT_EQ(spread(3, 7), (Indices{0, 1, 2}));
  EXPECT_EQ(spread(0, 7), Indices{});
  const Indices places = spread(100'003, 997);
  EXPECT_EQ(places.size(), 997u);
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i] - places[i - 1], 100u);
    EXPECT_LE(places[i] - places[i - 1], 101u);
  }
}

// Of eight classes 5 is 2 from the other end.
TEST(Views, FlippedLabelsAreCountedFromTheOtherEnd) {
  const FlippedLabels flipped(three(), 8, {true, false, true});
  std::vector<float> x(2);
  EXPECT_EQ(flipped.get(0, x), 2);
  EXPECT_EQ(flipped.get(1, x), 6);
  EXPECT_EQ(x, (std::vector<float>{1, 2}));
  EXPECT_EQ(flipped.get(2, x), 0);
}

TEST(Views, LabelsAreTheTargets) {
  EXPECT_EQ(labels_of(*three(), {.shape = {2}, .classes = 8}),
            (std::vector<std::uint32_t>{5, 6, 7}));
}

}  // namespace
}  // namespace tessera
