#include "torch/stacked_layers.h"

#include <gtest/gtest.h>

#include "learn/cpu_net.h"
#include "learn/testing.h"
#include "torch/reference_model.h"
#include "torch/tensors.h"
#include "torch/torch_twins.h"

namespace tessera {
namespace {

using stacked::Parameters;
using testing::MadeUpData;
using testing::relative_gap;
using torch::Tensor;

constexpr std::int64_t kStackedNodes = 3, kBatch = 4;

// K models and K batches drawn apart, as rows.
struct Cohort {
  Model model;
  std::vector<Vector> models{};
  std::vector<MadeUpData> data{};

  explicit Cohort(const testing::Case& c) : model(build_model(c.spec, c.task)) {
    for (std::uint64_t node = 0; node < kStackedNodes; ++node) {
      models.push_back(initial_parameters(model, Random(5).fork("node", node)));
      data.emplace_back(c.task, kBatch, Random(6).fork("node", node));
    }
  }
  Tensor rows() const {
    std::vector<Tensor> each;
    for (const Vector& one : models) each.push_back(view_of(one));
    return torch::stack(each);
  }
  Tensor features() const {  // [B, K, features]
    std::vector<Tensor> each;
    for (const MadeUpData& one : data)
      each.push_back(view_of(one.first(kBatch).features).view({kBatch, -1}));
    return torch::stack(each, 1);
  }
  Tensor targets() const {  // [B, K]
    std::vector<Tensor> each;
    for (const MadeUpData& one : data) each.push_back(view_of(one.first(kBatch).targets));
    return torch::stack(each, 1);
  }
};

Parameters leaves_of(const Model& model, const Tensor& rows) {
  Parameters parameters = stacked::split(model, rows);
  for (Tensor& parameter : parameters) parameter.requires_grad_();
  return parameters;
}

// Every model of the table, K = 3 against three times K = 1: the same outputs, losses and
// gradients. The convolution library picks its kernels by the number of groups, so the comparison
// allows for rounding.
TEST(StackedLayers, EqualAsManySeparateModels) {
  for (const testing::Case& c : testing::small_cases()) {
    const Cohort cohort(c);
    const Parameters leaves = leaves_of(cohort.model, cohort.rows());
    const Tensor outputs = stacked::forward(cohort.model, leaves, cohort.features());
    ASSERT_EQ(outputs.sizes(),
              (std::vector<std::int64_t>{kStackedNodes, kBatch, cohort.model.outputs}));
    const Tensor losses = stacked::losses(cohort.model, outputs, cohort.targets()).mean(1);
    Tensor gradient = torch::zeros_like(cohort.rows());
    stacked::join(cohort.model, torch::autograd::grad({losses.sum()}, leaves), gradient);

    for (std::int64_t node = 0; node < kStackedNodes; ++node) {
      const auto i = static_cast<std::size_t>(node);
      const auto alone = make_reference_model(cohort.model);
      alone->arrange(cohort.models[i], alone->parameters());
      const Batch batch = cohort.data[i].first(kBatch);
      EXPECT_NEAR(alone->differentiate(batch), losses[node].item<float>(), 1e-5) << c.spec;
      Vector got(cohort.model.dimension());
      copy_to(gradient[node], got);
      EXPECT_LT(relative_gap(got, alone->gradient()), 1e-5) << c.spec;
      Vector predicted(kBatch * alone->outputs()), stacked_outputs(predicted.size());
      alone->predict(batch, predicted);
      copy_to(outputs[node], stacked_outputs);
      EXPECT_LT(relative_gap(stacked_outputs, predicted), 1e-5) << c.spec;
    }
  }
}

// Samples given once serve all nodes.
TEST(StackedLayers, ShareTheSamplesOfAnEvaluation) {
  for (const testing::Case& c : testing::small_cases()) {
    const Cohort cohort(c);
    const Parameters parameters = stacked::split(cohort.model, cohort.rows());
    const Tensor once = cohort.features().narrow(1, 0, 1);
    const Tensor shared = stacked::forward(cohort.model, parameters, once);
    const Tensor repeated =
        stacked::forward(cohort.model, parameters, once.expand({-1, kStackedNodes, -1}));
    EXPECT_TRUE(torch::allclose(shared, repeated, 1e-4, 1e-5)) << c.spec;
  }
}

TEST(StackedLayers, SplitAndJoinAreInverse) {
  const Cohort cohort(testing::small_cases()[0]);
  const Tensor rows = cohort.rows();
  Tensor back = torch::zeros_like(rows);
  stacked::join(cohort.model, stacked::split(cohort.model, rows), back);
  EXPECT_TRUE(torch::equal(rows, back));
}

struct Twin {
  testing::Case c;
  std::shared_ptr<twins::Module> module;
};

void expect_twin(const Twin& twin, NodeModel& ours, double tolerance) {
  const Model model = build_model(twin.c.spec, twin.c.task);
  const Vector flat = initial_parameters(model, Random(8));
  const MadeUpData data(twin.c.task, kBatch, Random(9));
  const Batch batch = data.first(kBatch);
  ours.arrange(flat, ours.parameters());
  const float our_loss = ours.differentiate(batch);
  Vector gradient(flat.size());
  ours.restore(ours.gradient(), gradient);

  twins::load(*twin.module, flat);
  twin.module->zero_grad();
  std::vector<std::int64_t> shape(twin.c.task.shape.begin(), twin.c.task.shape.end());
  shape.insert(shape.begin(), kBatch);
  const Tensor outputs = twin.module->forward(view_of(batch.features).view(shape));
  const Tensor targets = view_of(batch.targets);
  const Tensor loss = twin.c.task.classes > 0
                          ? torch::cross_entropy_loss(outputs, targets.to(torch::kInt64))
                          : torch::mse_loss(outputs, targets);
  loss.backward();
  EXPECT_NEAR(our_loss, loss.item<float>(), 1e-5) << twin.c.spec;
  EXPECT_LT(relative_gap(gradient, twins::gradients(*twin.module)), tolerance) << twin.c.spec;
  Vector predicted(kBatch * ours.outputs()), expected(predicted.size());
  ours.predict(batch, predicted);
  copy_to(outputs, expected);
  EXPECT_LT(relative_gap(predicted, expected), 1e-5) << twin.c.spec;
}

// The same flat vector in a torch::nn module: the same outputs and gradients, of the layers under
// autograd and of the CPU layers.
TEST(StackedLayers, EqualTheModelsWrittenWithModules) {
  const std::vector<Twin> all = {
      {{"gn-lenet", testing::images(3, 32, 10)}, twins::gn_lenet(32, 3, 10)},
      {{"celeba-cnn", testing::images(3, 84, 2)}, twins::celeba_cnn(84, 2)},
      {{"femnist-cnn", testing::images(1, 28, 62)}, twins::femnist_cnn(28, 62)},
      {{"lstm", testing::tokens(80, 92)}, twins::lstm(80, 92)},
      {{"resnet8", testing::images(3, 32, 10)}, twins::resnet8(3, 10, 4)},
      {{"matrix-factorization", testing::ratings(61, 97)},
       twins::matrix_factorization(61, 97, 20)}};
  for (const Twin& twin : all) {
    const Model model = build_model(twin.c.spec, twin.c.task);
    expect_twin(twin, *make_reference_model(model), 2e-5);
    expect_twin(twin, *make_cpu_net(model, kBatch), 5e-5);
  }
}

}  // namespace
}  // namespace tessera
