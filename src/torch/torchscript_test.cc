#include "torch/torchscript.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "learn/learning.h"
#include "learn/testing_world.h"
#include "torch/backend.h"
#include "torch/reference_model.h"
#include "torch/script_export.h"
#include "torch/script_model.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::MadeUpData;

class TorchScript : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("tessera_script_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const char* name) const { return (folder_ / name).string(); }

  // One linear layer over batch-normed features, the way torch.jit.script would save it.
  std::string save_normed(std::int64_t features, std::int64_t classes) const {
    torch::jit::Module module("Normed");
    module.register_parameter("weight", torch::full({classes, features}, 0.1), false);
    module.register_buffer("running_mean", torch::zeros({features}));
    module.register_buffer("running_var", torch::ones({features}));
    module.register_buffer("batches", torch::zeros({}, torch::kInt64));
    module.register_attribute("training", c10::BoolType::get(), true);
    module.define(R"(
def forward(self, x):
    x = torch.flatten(x, 1)
    if self.training:
        self.batches += 1
    x = torch.batch_norm(x, None, None, self.running_mean, self.running_var, self.training,
                         0.1, 1e-05, False)
    return torch.mm(x, torch.t(self.weight))
)");
    const std::string path = file("normed.pt");
    module.save(path);
    return path;
  }

  std::string refusal(const std::string& spec, const Task& task) const {
    try {
      ScriptModule module(parse_spec(spec), task);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

// A built-in model, exported and brought back as if it were the user's own: the same vector, the
// same gradients, the same training.
TEST_F(TorchScript, TrainsLikeTheSameModelOfOurs) {
  for (const testing::Case& c : testing::small_cases()) {
    const Model model = build_model(c.spec, c.task);
    const Vector flat = initial_parameters(model, Random(1));
    ASSERT_TRUE(make_script_exporter(model)->save(flat, file("model.pt")).ok()) << c.spec;
    const ScriptModule module(parse_spec("torchscript:file=" + file("model.pt")), c.task);
    EXPECT_EQ(module.initial(), flat) << c.spec;
    const auto script = module.make_node_model();
    const auto ours = make_reference_model(model);
    ours->arrange(flat, ours->parameters());
    const MadeUpData data(c.task, 5, Random(2));
    EXPECT_NEAR(script->differentiate(data.first(5)), ours->differentiate(data.first(5)), 1e-5)
        << c.spec;
    EXPECT_LT(testing::relative_gap(script->gradient(), ours->gradient()), 2e-5) << c.spec;
  }
}

// Parameters come first, buffers of floating point after them; SGD moves the former, the forward
// pass of training the latter, and whole numbers stay out.
TEST_F(TorchScript, KeepsRunningStatisticsInTheVector) {
  const Task task = testing::images(1, 2, 3);
  const ScriptModule module(parse_spec("torchscript:file=" + save_normed(4, 3)), task);
  ASSERT_EQ(module.initial().size(), 12u + 4 + 4);
  EXPECT_EQ(module.initial()[0], 0.1f);
  EXPECT_EQ(module.initial()[12], 0.0f);
  EXPECT_EQ(module.initial()[16], 1.0f);

  const auto model = module.make_node_model();
  EXPECT_EQ(model->trained(), 12u);
  const MadeUpData data(task, 6, Random(2));
  model->arrange(module.initial(), model->parameters());
  model->differentiate(data.first(6));
  double mean = 0;
  for (std::size_t i = 0; i < 6; ++i) mean += double{data.first(6).features[i * 4]} / 6;
  EXPECT_NEAR(model->parameters()[12], 0.1 * mean, 1e-6);
  EXPECT_EQ(model->parameters()[0], 0.1f);

  // A prediction uses the statistics and leaves them alone.
  const Vector trained(model->parameters().begin(), model->parameters().end());
  Vector out(6 * 3);
  model->predict(data.first(6), out);
  EXPECT_TRUE(std::equal(trained.begin(), trained.end(), model->parameters().begin()));
}

// Weight decay, moments and clipping are of the parameters alone: a buffer in the vector is what
// the module's forward passes made of it, here with a rate so small that no activation changes.
TEST_F(TorchScript, NoOptimizerMovesRunningStatistics) {
  const Task task = testing::images(1, 2, 3);
  testing::LearningWorld world(task);
  world.backends = {&torch_backend(), 1};
  const std::string model = "torchscript:file=" + save_normed(4, 3);
  const auto trained = [&](const char* training) {
    world.run(*world.learning(model, training, "cpu").trainer, 2);
    return world.models[0];
  };
  const Vector plain = trained("sgd:lr=1e-30,batch=3,steps=3");
  EXPECT_NE(plain[12], 0.0f);
  EXPECT_TRUE(std::isfinite(plain[19]));  // No batch of one, whose variance is none.
  for (const char* training : {"adamw:lr=1e-30,weight_decay=1,batch=3,steps=3",
                               "adam:lr=1e-30,weight_decay=1,clip=0.01,batch=3,steps=3",
                               "sgd:lr=1e-30,momentum=0.9,weight_decay=1,batch=3,steps=3"}) {
    const Vector other = trained(training);
    EXPECT_TRUE(std::equal(plain.begin() + 12, plain.end(), other.begin() + 12)) << training;
  }
}

TEST_F(TorchScript, RunsThroughTrainerEvaluatorAndExporter) {
  const Task task = testing::images(1, 2, 3);
  LoadedData data{.name = "made-up", .task = task};
  data.train = std::make_shared<MadeUpData>(task, 60, Random(1));
  data.test = std::make_shared<MadeUpData>(task, 200, Random(2));
  Partition partition;
  for (std::uint32_t node = 0; node < 3; ++node)
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (i == 0) partition.train.emplace_back();
      partition.train[node].push_back(node * 20 + i);
    }
  std::vector<std::vector<Vector>> results;
  for (const unsigned threads : {1u, 2u}) {
    Learning learning = make_learning(
        data, partition,
        {.model = parse_spec("torchscript:file=" + save_normed(4, 3)),
         .training = parse_training("sgd:lr=0.1,batch=10,steps=20,weight_decay=0.001"),
         .threads = threads,
         .backends = {&torch_backend(), 1}});
    std::vector<Vector>& models = results.emplace_back(3, learning.trainer->initial_model());
    std::vector<std::span<const float>> views(models.begin(), models.end());
    const std::vector<NodeId> nodes = {0, 1, 2};
    const double before = learning.evaluator->evaluate(nodes, views)[0].accuracy;
    std::vector<TrainJob> cohort;
    for (NodeId node = 0; node < 3; ++node) cohort.push_back({node, models[node], Random(node)});
    learning.trainer->train(cohort);
    EXPECT_GT(learning.evaluator->evaluate(nodes, views)[0].accuracy, before + 0.2);
    ASSERT_TRUE(export_models(*learning.exporters.front(), views, folder_ / "out").ok());
  }
  EXPECT_EQ(results[0], results[1]);
  FlatScript back((folder_ / "out" / "node_1.pt").string());
  EXPECT_EQ(back.flat(), results[0][1]);
  FlatScript mean((folder_ / "out" / "average.pt").string());
  EXPECT_NEAR(mean.flat()[3], (results[0][0][3] + results[0][1][3] + results[0][2][3]) / 3, 1e-6);
}

TEST_F(TorchScript, SaysWhatIsWrongWithAFile) {
  const Task task = testing::images(1, 2, 3);
  EXPECT_NE(refusal("torchscript:file=nowhere.pt", task).find("cannot read 'nowhere.pt'"),
            std::string::npos);
  std::ofstream(file("broken.pt")) << "not an archive";
  EXPECT_NE(refusal("torchscript:file=" + file("broken.pt"), task).find("cannot read"),
            std::string::npos);
  EXPECT_NE(refusal("torchscript", task).find("file is missing"), std::string::npos);
  const std::string good = save_normed(4, 3);
  EXPECT_EQ(refusal("torchscript:file=" + good, task), "");
  EXPECT_NE(refusal("torchscript:file=" + good, testing::images(1, 3, 3)).find("does not fit"),
            std::string::npos);
  EXPECT_NE(refusal("torchscript:file=" + good, testing::images(1, 2, 7)).find("does not fit"),
            std::string::npos);
  EXPECT_NE(refusal("torchscript:file=" + good + ",loss=hinge", task).find("hinge"),
            std::string::npos);
  EXPECT_NE(refusal("torchscript:file=" + good + ",loss=cross-entropy", testing::ratings(3, 3))
                .find("loss=mse"),
            std::string::npos);
}

// Half a file, from every eighth to all but one byte: refused, never a crash.
TEST_F(TorchScript, RefusesATornFile) {
  const Task task = testing::images(1, 2, 3);
  const std::string good = save_normed(4, 3);
  std::ifstream in(good, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const std::size_t size : {bytes.size() / 8, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(file("torn.pt"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_NE(refusal("torchscript:file=" + file("torn.pt"), task), "") << size;
  }
}

}  // namespace
}  // namespace tessera
