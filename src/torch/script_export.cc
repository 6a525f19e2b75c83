#include "torch/script_export.h"

#include <fmt/format.h>

#include <map>
#include <variant>

#include "base/check.h"
#include "torch/door/door.h"
#include "torch/script_model.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

using torch::jit::Module;

// Where a layer's parameters are found from inside forward(): "self.conv1.weight".
std::string member(const Model& model, const Layer& layer, std::size_t i) {
  std::string name = model.parameters[layer.first_parameter + i].name;
  // A Python name cannot begin with a digit, but a Sequential's children are numbers.
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (name[dot + 1] >= '0' && name[dot + 1] <= '9') {
      const std::size_t end = name.find('.', dot + 1);
      return fmt::format("getattr(self.{}, \"{}\").{}", name.substr(0, dot),
                         name.substr(dot + 1, end - dot - 1), name.substr(end + 1));
    }
  return "self." + name;
}

void write_layers(const Model& model, const std::vector<Layer>& layers, const std::string& x,
                  std::string& code);

// The expression of one layer. A residual writes its branches into `code` first.
struct Call {
  const Model& model;
  const Layer& layer;
  const std::string& x;
  std::string& code;

  std::string at(std::size_t i) const { return member(model, layer, i); }

  std::string operator()(const Convolution& convolution) const {
    return fmt::format("torch.conv2d({0}, {1}, {2}, [{3}, {3}], [{4}, {4}], [1, 1], 1)", x, at(0),
                       at(1), convolution.stride, convolution.kernel / 2);
  }
  std::string operator()(const GroupNorm& norm) const {
    return fmt::format("torch.group_norm({}, {}, {}, {}, 1e-05, True)", x, norm.groups, at(0),
                       at(1));
  }
  std::string operator()(const Relu&) const { return fmt::format("torch.relu({})", x); }
  std::string operator()(const MaxPool&) const {
    return fmt::format("torch.max_pool2d({}, [2, 2])", x);
  }
  std::string operator()(const MeanPool&) const { return fmt::format("torch.mean({}, [2, 3])", x); }
  std::string operator()(const Linear&) const {
    return fmt::format("torch.addmm({}, torch.flatten({}, 1), torch.t({}))", at(1), x, at(0));
  }
  std::string operator()(const Embedding&) const {
    return fmt::format("torch.embedding({}, {}.long())", at(0), x);
  }
  std::string operator()(const Lstm& lstm) const {
    std::string weights;
    for (std::size_t i = 0; i < 4 * lstm.levels; ++i)
      weights += fmt::format("{}{}", i == 0 ? "" : ", ", at(i));
    return fmt::format(
        "torch.lstm({0}, [torch.zeros([{1}, {0}.size(0), {2}], device={0}.device), "
        "torch.zeros([{1}, {0}.size(0), {2}], device={0}.device)], [{3}], True, {1}, 0.0, False, "
        "False, True)[0]",
        x, lstm.levels, lstm.units, weights);
  }
  std::string operator()(const Factorization&) const {
    return fmt::format(
        "torch.sum(torch.embedding({1}, {0}[:, 0].long()) * torch.embedding({2}, {0}[:, "
        "1].long()), 1)",
        x, at(0), at(1));
  }
  std::string operator()(const Residual& residual) const {
    code += fmt::format("    {0}_body = {0}\n    {0}_skip = {0}\n", x);
    write_layers(model, residual.body, x + "_body", code);
    write_layers(model, residual.shortcut, x + "_skip", code);
    return fmt::format("{0}_body + {0}_skip", x);
  }
};

void write_layers(const Model& model, const std::vector<Layer>& layers, const std::string& x,
                  std::string& code) {
  for (const Layer& layer : layers) {
    const std::string result = std::visit(Call{model, layer, x, code}, layer.kind);
    code += fmt::format("    {} = {}\n", x, result);
  }
}

// The tree of modules that the dots in parameter names describe.
struct Branch {
  std::vector<std::string> order{};
  std::map<std::string, std::unique_ptr<Branch>> children{};
  std::vector<std::pair<std::string, const Parameter*>> leaves{};
};

void grow(Branch& branch, std::string_view name, const Parameter& parameter) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    branch.leaves.emplace_back(std::string(name), &parameter);
    return;
  }
  const std::string child(name.substr(0, dot));
  auto& slot = branch.children[child];
  if (!slot) {
    slot = std::make_unique<Branch>();
    branch.order.push_back(child);
  }
  grow(*slot, name.substr(dot + 1), parameter);
}

Module build(const Branch& branch, const std::string& name, std::vector<torch::Tensor>& tensors) {
  Module module(name);
  for (const auto& [leaf, parameter] : branch.leaves) {
    tensors.push_back(torch::zeros(parameter->shape));
    module.register_parameter(leaf, tensors.back(), /*is_buffer=*/false);
  }
  for (const std::string& child : branch.order)
    module.register_module(child, build(*branch.children.at(child), name + "_" + child, tensors));
  return module;
}

Result<void> write_module(const Module& module, const std::filesystem::path& file) {
  const std::string beside = file.string() + ".part";
  try {
    module.save(beside);
    std::filesystem::rename(beside, file);
  } catch (const std::exception& error) {
    return Error{"write", fmt::format("cannot write '{}': {}", file.string(), first_line(error))};
  }
  return {};
}

class LayerExporter final : public Exporter {
 public:
  explicit LayerExporter(const Model& model) : dimension_(model.dimension()), module_("m") {
    Branch root;
    for (const Parameter& parameter : model.parameters) grow(root, parameter.name, parameter);
    module_ = build(root, "Tessera", tensors_);
    std::string code = "def forward(self, x):\n";
    write_layers(model, model.layers, "x", code);
    module_.define(code + "    return x\n");
    module_.eval();
  }

  std::string_view extension() const override { return kTorchScriptExtension; }
  Result<void> save(std::span<const float> flat, const std::filesystem::path& file) override {
    CHECK(flat.size() == dimension_);
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor& tensor : tensors_) {
      const auto size = static_cast<std::size_t>(tensor.numel());
      tensor.copy_(view_of(flat.first(size)).view(tensor.sizes()));
      flat = flat.subspan(size);
    }
    return write_module(module_, file);
  }

 private:
  std::size_t dimension_;
  Module module_;
  std::vector<torch::Tensor> tensors_;  // In the order of the flat vector.
};

class ScriptExporter final : public Exporter {
 public:
  explicit ScriptExporter(const std::string& file) : script_(file) {}

  std::string_view extension() const override { return kTorchScriptExtension; }
  Result<void> save(std::span<const float> flat, const std::filesystem::path& file) override {
    CHECK(flat.size() == script_.flat().size());
    std::copy(flat.begin(), flat.end(), script_.flat().begin());
    script_.module().eval();
    return write_module(script_.module(), file);
  }

 private:
  FlatScript script_;
};

}  // namespace

std::unique_ptr<Exporter> make_script_exporter(const Model& model) {
  return std::make_unique<LayerExporter>(model);
}

std::unique_ptr<Exporter> make_script_exporter(const std::string& file) {
  return std::make_unique<ScriptExporter>(file);
}

}  // namespace tessera
