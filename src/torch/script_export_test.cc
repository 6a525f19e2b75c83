#include "torch/script_export.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "learn/testing.h"
#include "torch/reference_model.h"
#include "torch/script_model.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::MadeUpData;

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "tessera_export";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Export, KeepsNamesAndShapesOfTheStateDict) {
  for (const testing::Case& c : testing::small_cases()) {
    const Model model = build_model(c.spec, c.task);
    const Vector flat = initial_parameters(model, Random(1));
    ASSERT_TRUE(make_script_exporter(model)->save(flat, folder_ / "m.pt").ok());
    FlatScript script((folder_ / "m.pt").string());
    std::size_t i = 0;
    for (const auto& parameter : script.module().named_parameters()) {
      ASSERT_LT(i, model.parameters.size());
      EXPECT_EQ(parameter.name, model.parameters[i].name) << c.spec;
      EXPECT_EQ(parameter.value.sizes(), model.parameters[i].shape) << c.spec;
      ++i;
    }
    EXPECT_EQ(i, model.parameters.size()) << c.spec;
  }
}

TEST_F(Export, FailsWithAReasonWhereItCannotWrite) {
  const Model model = build_model("logistic", testing::images(1, 3, 2));
  const auto saved =
      make_script_exporter(model)->save(Vector(model.dimension()), folder_ / "missing" / "m.pt");
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().message.find("missing"), std::string::npos);
}

TEST_F(Export, AveragesModels) {
  const Vector a = {1, 2}, b = {3, 6};
  const std::vector<std::span<const float>> both = {a, b};
  EXPECT_EQ(average_models(both), (Vector{2, 4}));
}

const char* python_with_torch() {
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (std::system((std::string(python) + " -c 'import torch' 2>/dev/null").c_str()) == 0)
      return python;
  return nullptr;
}

// Python opens the files, finds an ordinary state dict, and predicts what we predict.
TEST_F(Export, IsReadByPython) {
  const char* const python = python_with_torch();
  if (!python) GTEST_SKIP() << "no Python here has torch (Debian: python3-torch)";
  const testing::Case c = {"gn-lenet", testing::images(3, 32, 10)};
  const Model model = build_model(c.spec, c.task);
  const std::vector<Vector> models = {initial_parameters(model, Random(1)),
                                      initial_parameters(model, Random(2))};
  const std::vector<std::span<const float>> views(models.begin(), models.end());
  ASSERT_TRUE(export_models(*make_script_exporter(model), views, folder_).ok());

  const MadeUpData data(c.task, 3, Random(3));
  const auto ours = make_reference_model(model);
  ours->arrange(models[1], ours->parameters());
  Vector expected(3 * 10);
  ours->predict(data.first(3), expected);
  const auto write = [&](const char* name, std::span<const float> values) {
    std::ofstream out(folder_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size_bytes()));
  };
  write("in.f32", data.first(3).features);
  write("out.f32", expected);
  std::ofstream(folder_ / "check.py") << R"(
import sys, warnings, torch
warnings.simplefilter("ignore")
folder = sys.argv[1]
def floats(name):
    return torch.frombuffer(bytearray(open(f"{folder}/{name}", "rb").read()), dtype=torch.float32)
module = torch.jit.load(f"{folder}/node_1.pt")
assert sum(p.numel() for p in module.parameters()) == 89834
y = module(floats("in.f32").view(3, 3, 32, 32))
assert torch.allclose(y, floats("out.f32").view(3, 10), atol=1e-5), (y, floats("out.f32"))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda i, o: torch.nn.Conv2d(i, o, 5, padding=2)
        self.conv1, self.gn1 = conv(3, 32), torch.nn.GroupNorm(2, 32)
        self.conv2, self.gn2 = conv(32, 32), torch.nn.GroupNorm(2, 32)
        self.conv3, self.gn3 = conv(32, 64), torch.nn.GroupNorm(2, 64)
        self.fc1 = torch.nn.Linear(1024, 10)
Net().load_state_dict(module.state_dict())
newer = {"weights_only": False} if int(torch.__version__.split(".")[0]) >= 2 else {}
load = lambda name: torch.load(f"{folder}/{name}.pt", **newer).state_dict()
a, b, mean = (load(name) for name in ("node_0", "node_1", "average"))
assert all(torch.allclose((a[k] + b[k]) / 2, mean[k], atol=1e-7) for k in mean)
)";
  const std::string command =
      std::string(python) + " " + (folder_ / "check.py").string() + " " + folder_.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// And the other way: what Python scripts and saves, with its own order of modules, is what we
// train.
TEST_F(Export, PythonsModulesAreRead) {
  const char* const python = python_with_torch();
  if (!python) GTEST_SKIP() << "no Python here has torch (Debian: python3-torch)";
  std::ofstream(folder_ / "make.py") << R"(
import sys, torch
from torch import nn
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                    nn.Linear(64, 3))
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.fill_(float(i))
torch.jit.script(net).save(sys.argv[1])
)";
  const std::string file = (folder_ / "net.pt").string();
  const std::string command =
      std::string(python) + " " + (folder_ / "make.py").string() + " " + file;
  ASSERT_EQ(std::system(command.c_str()), 0);
  FlatScript script(file);
  const std::size_t sizes[] = {36, 4, 4, 4, 192, 3};  // Then running mean and variance: 4 and 4.
  ASSERT_EQ(script.flat().size(), 36u + 4 + 4 + 4 + 192 + 3 + 8);
  EXPECT_EQ(script.trained(), script.flat().size() - 8);
  std::size_t at = 0;
  for (std::size_t i = 0; i < 6; at += sizes[i], ++i)
    EXPECT_EQ(script.flat()[at], static_cast<float>(i));
}

}  // namespace
}  // namespace tessera
