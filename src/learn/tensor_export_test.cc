#include "learn/tensor_export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "learn/cpu_net.h"
#include "learn/testing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class TensorExport : public ::testing::Test {
 protected:
  void SetUp() override {
    // Tests run beside each other.
    folder_ = fs::path(::testing::TempDir()) / fmt::format("tessera_export_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const char* name, std::span<const float> values) const {
    std::ofstream out(folder_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size_bytes()));
  }
  fs::path folder_;
};

TEST_F(TensorExport, WritesEveryModelInBothFormats) {
  for (const testing::Case& c : testing::small_cases()) {
    const Model model = build_model(c.spec, c.task);
    const Vector flat = initial_parameters(model, Random(1));
    for (const auto& exporter : {make_safetensors_exporter(model), make_npz_exporter(model)}) {
      const fs::path file = folder_ / "m";
      ASSERT_TRUE(exporter->save(flat, file).ok()) << c.spec;
      EXPECT_GE(fs::file_size(file), flat.size() * sizeof(float)) << c.spec;
    }
  }
}

TEST_F(TensorExport, FailsWithAReasonWhereItCannotWrite) {
  const Model model = build_model("logistic", testing::images(1, 3, 2));
  const auto saved = make_safetensors_exporter(model)->save(Vector(model.dimension()),
                                                            folder_ / "missing" / "m.safetensors");
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().message.find("missing"), std::string::npos);
}

const char* python_with(const char* modules) {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string command = fmt::format("{} -c 'import {}' 2>/dev/null", python, modules);
    if (std::system(command.c_str()) == 0) return python;
  }
  return nullptr;
}

// Reads both formats, with a few lines of its own for safetensors: the package is seldom there.
constexpr const char* kRead = R"(
import json, struct, sys, zipfile
import numpy as np
folder = sys.argv[1]
def npz(name):
    assert zipfile.ZipFile(f"{folder}/{name}.npz").testzip() is None
    with np.load(f"{folder}/{name}.npz") as file:
        return {key: file[key] for key in file}
def safetensors(name):
    data = open(f"{folder}/{name}.safetensors", "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    assert header.pop("__metadata__") == {"format": "pt"}
    cut = lambda at: np.frombuffer(data[start + at[0]:start + at[1]], dtype="<f4")
    return {key: cut(t["data_offsets"]).reshape(t["shape"]) for key, t in header.items()}
for name in ("node_0", "node_1", "average"):
    a, b = npz(name), safetensors(name)
    assert list(a) == list(b), (list(a), list(b))
    assert all((a[key] == b[key]).all() for key in a)
a, b, mean = npz("node_0"), npz("node_1"), npz("average")
assert all(np.allclose((a[key] + b[key]) / 2, mean[key], atol=1e-7) for key in mean)
)";

constexpr const char* kPredict = R"(
import torch
def floats(name):
    return torch.frombuffer(bytearray(open(f"{folder}/{name}", "rb").read()), dtype=torch.float32)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda i, o: torch.nn.Conv2d(i, o, 5, padding=2)
        self.conv1, self.gn1 = conv(3, 32), torch.nn.GroupNorm(2, 32)
        self.conv2, self.gn2 = conv(32, 32), torch.nn.GroupNorm(2, 32)
        self.conv3, self.gn3 = conv(32, 64), torch.nn.GroupNorm(2, 64)
        self.fc1 = torch.nn.Linear(1024, 10)
    def forward(self, x):
        for conv, norm in ((self.conv1, self.gn1), (self.conv2, self.gn2), (self.conv3, self.gn3)):
            x = torch.max_pool2d(torch.relu(norm(conv(x))), 2)
        return self.fc1(torch.flatten(x, 1))
for read in (npz, safetensors):
    net = Net()
    net.load_state_dict({key: torch.tensor(value) for key, value in read("node_1").items()})
    y = net(floats("in.f32").view(3, 3, 32, 32))
    assert torch.allclose(y, floats("out.f32").view(3, 10), atol=1e-4), (y, floats("out.f32"))
)";

// Python opens the files, finds an ordinary state_dict and, where it has PyTorch, predicts what we
// predict.
TEST_F(TensorExport, IsReadByPython) {
  const char* const with_numpy = python_with("numpy");
  const char* const with_torch = python_with("numpy, torch");
  if (!with_numpy) GTEST_SKIP() << "no Python here has numpy (Debian: python3-numpy)";
  const Model model = build_model("gn-lenet", testing::images(3, 32, 10));
  const std::vector<Vector> models = {initial_parameters(model, Random(1)),
                                      initial_parameters(model, Random(2))};
  const std::vector<std::span<const float>> views(models.begin(), models.end());
  for (const auto& exporter : {make_safetensors_exporter(model), make_npz_exporter(model)})
    ASSERT_TRUE(export_models(*exporter, views, folder_).ok());
  const testing::MadeUpData data(model.task, 3, Random(3));
  const auto ours = make_cpu_net(model, 3);
  ours->arrange(models[1], ours->parameters());
  Vector expected(3 * 10);
  ours->predict(data.first(3), expected);
  write("in.f32", data.first(3).features);
  write("out.f32", expected);
  std::ofstream(folder_ / "check.py") << kRead << (with_torch ? kPredict : "");
  const std::string command = fmt::format("{} {} {}", with_torch ? with_torch : with_numpy,
                                          (folder_ / "check.py").string(), folder_.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  if (!with_torch) GTEST_SKIP() << "read by numpy; no Python here has torch to predict with";
}

}  // namespace
}  // namespace tessera
