// The CPU layers against plain_model.h: every model of the table, odd and even images, whole and
// partial batches, and layers that no model of the table has on their own.
#include "learn/cpu_net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "learn/amx.h"
#include "learn/bf16.h"
#include "learn/optimizer.h"
#include "learn/plain_model.h"
#include "learn/testing.h"
#include "math/vector_ops.h"

namespace tessera {
namespace {

using testing::MadeUpData;
using testing::relative_gap;

constexpr std::size_t kBatchMax = 9;

// Norms start at one and zero, where mistakes in their use would not show.
Vector shaken_parameters(const Model& model) {
  Vector flat = initial_parameters(model, Random(1));
  const Vector noise = testing::normals(flat.size(), Random(2));
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] += 0.05f * noise[i];
  return flat;
}

void expect_plain_outputs(const Model& model, NodeModel& net, const Vector& flat,
                          const Batch& batch) {
  const std::vector<double> exact(flat.begin(), flat.end());
  const std::size_t width = batch.features.size() / batch.size();
  Vector ours(batch.size() * net.outputs()), expected;
  for (std::size_t n = 0; n < batch.size(); ++n)
    for (const double value :
         plain::predict(model, exact, batch.features.subspan(n * width, width)))
      expected.push_back(static_cast<float>(value));
  net.predict(batch, ours);
  EXPECT_LT(relative_gap(ours, expected), 2e-5) << model.name << " batch " << batch.size();
}

// Where every access is checked, the plain loss takes minutes.
constexpr int kSlopesDrawn = TESSERA_SANITIZED ? 0 : 2;

// A few coordinates of every parameter against the slope of the plain loss.
void expect_plain_gradient(const Model& model, NodeModel& net, const Vector& flat,
                           const Batch& batch) {
  constexpr double kStep = 1e-5;
  std::vector<double> exact(flat.begin(), flat.end());
  EXPECT_NEAR(double{net.differentiate(batch)}, plain::loss(model, exact, batch), 1e-4);
  Vector gradient(flat.size());
  net.restore(net.gradient(), gradient);
  Random random(5);
  for (const Parameter& parameter : model.parameters) {
    double largest = 1e-3;
    for (const float value : std::span(gradient).subspan(parameter.offset, parameter.size))
      largest = std::max(largest, std::abs(double{value}));
    for (int draw = 0; draw < kSlopesDrawn; ++draw) {
      const std::size_t i = parameter.offset + random.below(parameter.size);
      const double here = exact[i];
      exact[i] = here + kStep;
      const double above = plain::loss(model, exact, batch);
      exact[i] = here - kStep;
      const double below = plain::loss(model, exact, batch);
      exact[i] = here;
      EXPECT_NEAR(double{gradient[i]}, (above - below) / (2 * kStep), 2e-3 * largest)
          << model.name << " " << parameter.name << " at " << i - parameter.offset;
    }
  }
}

void expect_agreement(const Model& model, CpuKernels kernels = {}) {
  const auto net = make_cpu_net(model, kBatchMax, kernels);
  const Vector flat = shaken_parameters(model);
  net->arrange(flat, net->parameters());
  const MadeUpData data(model.task, kBatchMax, Random(3));
  // One net sees batches of different sizes in a row, so that nothing of the last one is left.
  for (const std::size_t batch : {8u, 3u, 9u, 1u})
    expect_plain_outputs(model, *net, flat, data.first(batch));
  expect_plain_gradient(model, *net, flat, data.first(3));
}

class EveryModel : public ::testing::TestWithParam<testing::Case> {};

TEST_P(EveryModel, EqualsItsFormulas) {
  const Model model = build_model(GetParam().spec, GetParam().task);
  EXPECT_NO_THROW(require_whole_vectors(model));
  expect_agreement(model);
}
INSTANTIATE_TEST_SUITE_P(CpuNet, EveryModel, ::testing::ValuesIn(testing::small_cases()),
                         [](const auto& one) {
                           std::string name(one.param.spec.substr(0, one.param.spec.find(':')));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Its formula takes a fifth of a billion products an image, so: two images forward, and the slope
// along the gradient, which is its squared norm.
TEST(CpuNet, Vgg11EqualsItsFormulas) {
  const Model model = build_model("vgg11", testing::images(3, 32, 10));
  EXPECT_NO_THROW(require_whole_vectors(model));
  if (kSlopesDrawn == 0) GTEST_SKIP() << "too slow where every access is checked";
  const auto net = make_cpu_net(model, kBatchMax, {});
  const Vector flat = initial_parameters(model, Random(1));
  const std::vector<double> exact(flat.begin(), flat.end());
  net->arrange(flat, net->parameters());
  const MadeUpData data(model.task, kBatchMax, Random(3));
  expect_plain_outputs(model, *net, flat, data.first(2));
  const Batch one = data.first(1);
  EXPECT_NEAR(double{net->differentiate(one)}, plain::loss(model, exact, one), 1e-4);
  Vector gradient(flat.size());
  net->restore(net->gradient(), gradient);
  const double square = squared_norm(gradient), step = 1e-4 / std::sqrt(square);
  const auto loss_at = [&](double along) {
    std::vector<double> there = exact;
    for (std::size_t i = 0; i < there.size(); ++i) there[i] += along * double{gradient[i]};
    return plain::loss(model, there, one);
  };
  EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step) / square, 1, 1e-3);
}

// Not fused: convolutions without pooling, of stride 1 and 2, pooling on its own, ReLU on its own.
TEST(CpuNet, RunsLayersThatAreNotFused) {
  expect_agreement(ModelBuilder("loose", testing::images(2, 9, 3))
                       .convolution("a", 16, 3)
                       .relu()
                       .convolution("b", 32, 5, 2)
                       .max_pool()
                       .group_norm("c", 4)
                       .convolution("d", 16, 1)
                       .relu()
                       .linear("e", 3)
                       .done());
}

TEST(CpuNet, EqualsItsFormulasWithConvolutionsByWinograd) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  expect_agreement(model, parse_device("cpu:convolution=winograd").kernels);
  // It is another way to the same numbers, not the same way.
  const auto direct = make_cpu_net(model, 8, parse_device("cpu").kernels);
  const auto winograd = make_cpu_net(model, 8, {.winograd = true});
  const Vector flat = initial_parameters(model, Random(1));
  const MadeUpData data(c.task, 8, Random(2));
  for (NodeModel* const net : {direct.get(), winograd.get()}) {
    net->arrange(flat, net->parameters());
    net->differentiate(data.first(8));
  }
  EXPECT_LT(relative_gap(winograd->gradient(), direct->gradient()), 1e-4);
  EXPECT_FALSE(std::ranges::equal(winograd->gradient(), direct->gradient()));
}

// The samples themselves are laid out otherwise than Winograd reads them, also with 16 channels.
TEST(CpuNet, LaysTheSamplesOutForWinograd) {
  for (const std::uint32_t channels : {1u, 3u, 16u})
    expect_agreement(ModelBuilder("wide", testing::images(channels, 8, 3))
                         .convolution("a", 16, 5)
                         .relu()
                         .linear("b", 3)
                         .done(),
                     {.winograd = true});
}

// Those that this CPU has.
std::vector<CpuKernels> kernels_in_bf16() {
  std::vector<CpuKernels> kernels;
  if (has_bf16()) kernels = {{.bf16 = true}, {.winograd = true, .bf16 = true}};
  if (has_amx()) kernels.push_back({.bf16 = true, .amx = true});
  return kernels;
}

// Every kind of convolution: the first, of stride 1 and 2, of 5x5 and 3x3, in a batch and a part.
TEST(CpuNet, IsNearItsFormulasInBf16) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16";
  for (const testing::Case& c : {testing::small_cases()[0], testing::small_cases()[4]})
    for (const CpuKernels kernels : kernels_in_bf16()) {
      const Model model = build_model(c.spec, c.task);
      const auto exact = make_cpu_net(model, 8), rounded = make_cpu_net(model, 8, kernels);
      const Vector flat = shaken_parameters(model);
      const MadeUpData data(c.task, 8, Random(2));
      for (NodeModel* const net : {exact.get(), rounded.get()})
        net->arrange(flat, net->parameters());
      for (const std::size_t batch : {8u, 3u}) {
        Vector ours(batch * exact->outputs()), expected(ours.size());
        rounded->predict(data.first(batch), ours);
        exact->predict(data.first(batch), expected);
        EXPECT_LT(relative_gap(ours, expected), 0.05) << c.spec;
        EXPECT_NE(ours, expected) << c.spec;
        rounded->differentiate(data.first(batch));
        exact->differentiate(data.first(batch));
        // Where two pixels are nearly alike, pooling may take the other one.
        EXPECT_LT(relative_gap(rounded->gradient(), exact->gradient()), 0.25) << c.spec;
      }
    }
}

void expect_nothing_left_behind(CpuKernels kernels) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const Vector flat = initial_parameters(model, Random(1));
  const MadeUpData data(c.task, 8, Random(2)), other(c.task, 5, Random(3));
  const auto fresh = make_cpu_net(model, 8, kernels), used = make_cpu_net(model, 8, kernels);
  fresh->arrange(flat, fresh->parameters());
  used->arrange(flat, used->parameters());
  used->differentiate(other.first(5));
  EXPECT_EQ(used->differentiate(data.first(8)), fresh->differentiate(data.first(8)));
  EXPECT_TRUE(std::equal(used->gradient().begin(), used->gradient().end(),
                         fresh->gradient().begin(), fresh->gradient().end()));
}

TEST(CpuNet, LeavesNothingBehindFromBatchToBatch) {
  expect_nothing_left_behind({});
  expect_nothing_left_behind({.winograd = true});
  if (!has_bf16()) GTEST_SKIP() << "the rest needs a CPU with AVX-512 BF16";
  for (const CpuKernels kernels : kernels_in_bf16()) expect_nothing_left_behind(kernels);
}

// The update moves parameters while layers before them are still to be differentiated.
TEST(CpuNet, DescendsLikeOneUpdateAfterTheGradient) {
  std::vector<testing::Case> cases = testing::small_cases();
  const Task images{.kind = Task::Kind::kImages, .shape = {1, 28, 28}, .classes = 10};
  cases.push_back({"mlp:hidden=300", images});  // Its first layer is updated in parts.
  for (const testing::Case& c : cases) {
    const Model model = build_model(c.spec, c.task);
    const Vector flat = initial_parameters(model, Random(1));
    const MadeUpData data(c.task, 8, Random(2));
    const auto at_once = make_cpu_net(model, 8), in_parts = make_cpu_net(model, 8);
    for (NodeModel* net : {at_once.get(), in_parts.get()}) net->arrange(flat, net->parameters());
    const TrainingOptions training{.lr = 0.1f};
    const OptimizerStep step(training, 0);
    const float loss = at_once->differentiate(data.first(8));
    step.apply(at_once->parameters(), at_once->gradient(), {});
    const auto update = [&](std::size_t first, std::span<const float> gradient) {
      step.apply(in_parts->parameters().subspan(first, gradient.size()), gradient, {});
    };
    EXPECT_EQ(in_parts->descend(data.first(8), update), loss) << c.spec;
    EXPECT_TRUE(std::ranges::equal(in_parts->parameters(), at_once->parameters())) << c.spec;
  }
}

TEST(CpuNet, ArrangesAndRestores) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const Vector flat = initial_parameters(model, Random(1));
  const auto net = make_cpu_net(model, 1);
  Vector working(flat.size()), back(flat.size());
  net->arrange(flat, working);
  EXPECT_NE(working, flat);
  net->restore(working, back);
  EXPECT_EQ(back, flat);
}

TEST(CpuNet, PassesOnNotANumber) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const auto net = make_cpu_net(model, 2);
  const MadeUpData data(c.task, 2, Random(2));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 1e38f}) {
    Vector flat = initial_parameters(model, Random(1));
    for (const std::size_t i : {0u, 1u}) flat[model.parameters[8].offset + i] = bad;
    net->arrange(flat, net->parameters());
    Vector out(2 * net->outputs());
    net->predict(data.first(2), out);
    EXPECT_FALSE(std::isfinite(out[0])) << bad;
    EXPECT_FALSE(std::isfinite(net->differentiate(data.first(2)))) << bad;
  }
}

std::string width_refused(const Model& model) {
  try {
    require_whole_vectors(model);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

// A model that is fine on a GPU is refused in words before any kernel sees it.
TEST(CpuNet, RefusesWidthsItsKernelsDoNotTake) {
  const Task images{.shape = {3, 8, 8}, .classes = 10};
  const auto conv = [&](std::uint32_t channels, std::uint32_t stride) {
    return ModelBuilder("odd", images)
        .convolution("conv1", channels, 3, stride)
        .linear("fc", 10)
        .done();
  };
  EXPECT_EQ(width_refused(conv(16, 1)), "(accepted)");
  EXPECT_EQ(
      width_refused(conv(12, 1)),
      "model odd: conv1 has 12 channels, and on the CPU they must be a multiple of 16: change "
      "the model, or use device=cuda");
  EXPECT_NE(width_refused(conv(16, 2)).find("conv1 has a stride"), std::string::npos);
  const Model residual = ModelBuilder("odd", images)
                             .convolution("conv1", 16, 3)
                             .residual_block("block1", {.outputs = 24, .stride = 1, .groups = 2})
                             .mean_pool()
                             .linear("fc", 10)
                             .done();
  EXPECT_NE(width_refused(residual).find("24 channels"), std::string::npos);
  const Task tokens{.kind = Task::Kind::kTokens, .shape = {5}, .classes = 9, .vocabulary = 9};
  const auto lstm = [&](std::uint32_t units) {
    return ModelBuilder("odd", tokens)
        .embedding("embedding", 9, 8)
        .lstm("lstm", units, 1)
        .linear("fc", 9)
        .done();
  };
  EXPECT_EQ(width_refused(lstm(64)), "(accepted)");
  EXPECT_NE(width_refused(lstm(40)).find("lstm has 40 units"), std::string::npos);
}

}  // namespace
}  // namespace tessera
