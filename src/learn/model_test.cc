#include "learn/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "learn/models.h"
#include "learn/testing.h"

namespace tessera {
namespace {

using testing::images;

std::string refusal(std::string_view spec, const Task& task) {
  try {
    build_model(spec, task);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// The published counts of the models of both papers, and what the others come to by hand.
TEST(Models, HaveThePapersNumberOfParameters) {
  EXPECT_EQ(build_model("gn-lenet", images(3, 32, 10)).dimension(), 89'834u);
  EXPECT_EQ(build_model("matrix-factorization", testing::ratings(610, 9'724)).dimension(),
            206'680u);
  EXPECT_EQ(build_model("lstm", testing::tokens(80, 92)).dimension(), 2'683'708u);
  EXPECT_EQ(build_model("celeba-cnn", images(3, 84, 2)).dimension(), 30'242u);
  EXPECT_EQ(build_model("femnist-cnn", images(1, 28, 62)).dimension(), 1'690'046u);
  EXPECT_EQ(build_model("cnn28", images(1, 28, 10)).dimension(), 28'938u);
  EXPECT_EQ(build_model("logistic", images(1, 28, 10)).dimension(), 7'850u);
  EXPECT_EQ(build_model("mlp:hidden=128/64", images(1, 28, 10)).dimension(),
            784u * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
  const auto conv3 = [](std::size_t in, std::size_t out) { return in * out * 9 + out; };
  EXPECT_EQ(build_model("vgg11", images(3, 32, 10)).dimension(),
            conv3(3, 64) + conv3(64, 128) + conv3(128, 256) + conv3(256, 256) + conv3(256, 512) +
                3 * conv3(512, 512) + 2 * (512 * 512 + 512) + 512 * 10 + 10);
  EXPECT_EQ(build_model("vgg11", images(3, 32, 10)).dimension(), 9'750'922u);
  const std::size_t stem = 3 * 9 * 16 + 16 + 2 * 16;
  const auto block = [](std::size_t in, std::size_t out) {
    const std::size_t convs = in * 9 * out + out + out * 9 * out + out + 4 * out;
    return convs + (in == out ? 0 : in * out + out + 2 * out);
  };
  EXPECT_EQ(build_model("resnet8", images(3, 32, 10)).dimension(),
            stem + block(16, 16) + block(16, 32) + block(32, 64) + 64 * 10 + 10);
}

// sharing_test.cc cuts fragments of these lengths.
TEST(Models, KnowHowLongTheirTensorsAre) {
  EXPECT_EQ(build_model("gn-lenet", images(3, 32, 10)).tensors(),
            (std::vector<std::uint32_t>{2'400, 32, 32, 32, 25'600, 32, 32, 32, 51'200, 64, 64, 64,
                                        10'240, 10}));
}

TEST(Models, AreNamedAndOrderedAsPyTorchDoes) {
  const Model model = build_model("gn-lenet", images(3, 32, 10));
  const std::vector<std::string> expected = {"conv1.weight", "conv1.bias", "gn1.weight", "gn1.bias",
                                             "conv2.weight", "conv2.bias", "gn2.weight", "gn2.bias",
                                             "conv3.weight", "conv3.bias", "gn3.weight", "gn3.bias",
                                             "fc1.weight",   "fc1.bias"};
  std::size_t offset = 0;
  ASSERT_EQ(model.parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(model.parameters[i].name, expected[i]);
    EXPECT_EQ(model.parameters[i].offset, offset);
    offset += model.parameters[i].size;
  }
}

TEST(Models, RefuseUnknownNamesOptionsAndTasks) {
  EXPECT_NE(refusal("gn-lenett", images(3, 32, 10)).find("Did you mean 'gn-lenet'?"),
            std::string::npos);
  EXPECT_NE(refusal("mlp:hiden=3", images(1, 28, 10)).find("hidden"), std::string::npos);
  EXPECT_NE(refusal("mlp:hidden=2.5", images(1, 28, 10)).find("2.5"), std::string::npos);
  EXPECT_EQ(refusal("gn-lenet", testing::tokens(80, 92)),
            "model gn-lenet wants images of at least 8x8 pixels and two classes, but the data has "
            "sequences of 80 tokens out of 92; see `tessera list models` for one that fits");
  EXPECT_NE(refusal("gn-lenet", images(3, 7, 10)).find("8x8"), std::string::npos);
  EXPECT_NE(refusal("lstm", images(3, 32, 10)).find("sequences of tokens"), std::string::npos);
  EXPECT_NE(refusal("matrix-factorization", images(3, 32, 10)).find("3x32x32 images"),
            std::string::npos);
}

struct Spread {
  double low = 0, high = 0, mean = 0, deviation = 0;
};
Spread spread_of(const Vector& flat, const Parameter& parameter) {
  const auto values = std::span(flat).subspan(parameter.offset, parameter.size);
  Spread spread{double{values[0]}, double{values[0]}};
  double squares = 0;
  for (const float value : values) {
    spread.low = std::min(spread.low, double{value});
    spread.high = std::max(spread.high, double{value});
    spread.mean += double{value} / static_cast<double>(values.size());
    squares += double{value} * double{value} / static_cast<double>(values.size());
  }
  spread.deviation = std::sqrt(squares - spread.mean * spread.mean);
  return spread;
}

// Uniform in +-b has deviation b / sqrt 3; n draws stay within 5 / sqrt n of it. The bound itself
// is nearly reached by any tensor of some thousands.
void expect_uniform(const Vector& flat, const Parameter& parameter, double bound) {
  const Spread spread = spread_of(flat, parameter);
  const double slack = 5 / std::sqrt(static_cast<double>(parameter.size));
  EXPECT_LE(std::max(-spread.low, spread.high), bound) << parameter.name;
  EXPECT_NEAR(spread.mean / bound, 0, slack) << parameter.name;
  EXPECT_NEAR(spread.deviation / (bound / std::sqrt(3)), 1, slack) << parameter.name;
  if (parameter.size > 2000) {
    EXPECT_GT(spread.high, 0.99 * bound) << parameter.name;
    EXPECT_LT(spread.low, -0.99 * bound) << parameter.name;
  }
}

TEST(InitialParameters, FollowPyTorchsDefaults) {
  const Model lenet = build_model("gn-lenet", images(3, 32, 10));
  const Vector flat = initial_parameters(lenet, Random(1));
  expect_uniform(flat, lenet.parameters[0], 1 / std::sqrt(75));
  expect_uniform(flat, lenet.parameters[1], 1 / std::sqrt(75));
  expect_uniform(flat, lenet.parameters[8], 1 / std::sqrt(800));
  expect_uniform(flat, lenet.parameters[12], 1 / std::sqrt(1024));
  EXPECT_EQ(spread_of(flat, lenet.parameters[2]).low, 1);
  EXPECT_EQ(spread_of(flat, lenet.parameters[2]).high, 1);
  EXPECT_EQ(spread_of(flat, lenet.parameters[3]).high, 0);

  const Model lstm = build_model("lstm", testing::tokens(80, 92));
  const Vector states = initial_parameters(lstm, Random(2));
  const Spread embedding = spread_of(states, lstm.parameters[0]);
  EXPECT_NEAR(embedding.mean, 0, 5 / std::sqrt(736));
  EXPECT_NEAR(embedding.deviation, 1, 5 / std::sqrt(736));
  for (std::size_t i = 1; i <= 8; ++i) expect_uniform(states, lstm.parameters[i], 1.0 / 16);

  const Model vgg = build_model("vgg11", images(3, 32, 10));
  const Vector normals = initial_parameters(vgg, Random(4));
  const Spread second = spread_of(normals, vgg.parameters[2]);  // 128 channels out of 64.
  EXPECT_EQ(vgg.parameters[2].name, "features.3.weight");
  EXPECT_NEAR(second.deviation / std::sqrt(2.0 / (9 * 128)), 1, 5 / std::sqrt(2 * 73'728.0));
  EXPECT_EQ(spread_of(normals, vgg.parameters[3]).high, 0);
  EXPECT_EQ(vgg.parameters[14].name, "features.18.weight");
  expect_uniform(normals, vgg.parameters[16], 1 / std::sqrt(512));

  const Model factors = build_model("matrix-factorization", testing::ratings(610, 9'724));
  const Vector both = initial_parameters(factors, Random(3));
  for (const Parameter& parameter : factors.parameters) expect_uniform(both, parameter, 0.05);
}

TEST(InitialParameters, AreTheSameForTheSameSeedOnly) {
  const Model model = build_model("cnn28", images(1, 28, 10));
  EXPECT_EQ(initial_parameters(model, Random(5)), initial_parameters(model, Random(5)));
  EXPECT_NE(initial_parameters(model, Random(5)), initial_parameters(model, Random(6)));
}

}  // namespace
}  // namespace tessera
