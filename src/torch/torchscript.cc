#include "torch/torchscript.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.h"
#include "base/spec.h"
#include "learn/loss.h"
#include "torch/script_model.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

using torch::Tensor;

torch::jit::Module load_module(const std::string& file) {
  try {
    return torch::jit::load(file, torch::kCPU);
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        fmt::format("torchscript: cannot read '{}': {}; it should be what "
                    "torch.jit.script(model).save(file) writes",
                    file, first_line(error)));
  }
}

Tensor inputs_of(const Task& task, const Batch& batch) {
  std::vector<std::int64_t> shape(task.shape.begin(), task.shape.end());
  shape.insert(shape.begin(), static_cast<std::int64_t>(batch.size()));
  const Tensor features = view_of(batch.features).view(shape);
  return task.kind == Task::Kind::kImages ? features : features.to(torch::kInt64);
}

class ScriptModel final : public NodeModel {
 public:
  ScriptModel(const std::string& file, const Task& task)
      : script_(file), task_(task), gradient_(script_.flat().size()) {}

  std::size_t outputs() const override { return task_.classes > 0 ? task_.classes : 1; }
  std::span<float> parameters() override { return script_.flat(); }
  std::size_t trained() const override { return script_.trained(); }
  // A node's vector comes in at the start of its round: what is not in it starts afresh then.
  void arrange(std::span<const float> flat, std::span<float> working) const override {
    use_one_torch_thread();
    std::copy(flat.begin(), flat.end(), working.begin());
    script_.reset_other_buffers();
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    std::copy(working.begin(), working.end(), flat.begin());
  }

  float differentiate(const Batch& batch) override {
    script_.module().train();
    const Tensor outputs = forward(batch);
    const Tensor targets = view_of(batch.targets);
    const Tensor loss = task_.classes > 0
                            ? torch::cross_entropy_loss(outputs, targets.to(torch::kInt64))
                            : torch::mse_loss(outputs.flatten(), targets);
    const auto gradients = torch::autograd::grad({loss}, script_.parameters(), /*grad_outputs=*/{},
                                                 /*retain_graph=*/{},
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    std::size_t at = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const auto size = static_cast<std::size_t>(script_.parameters()[i].numel());
      const auto to = std::span(gradient_).subspan(at, size);
      // A parameter the forward pass did not use stays where it is.
      if (gradients[i].defined())
        copy_to(gradients[i], to);
      else
        std::fill(to.begin(), to.end(), 0.0f);
      at += size;
    }
    return loss.item<float>();
  }
  std::span<const float> gradient() const override { return gradient_; }

  void predict(const Batch& batch, std::span<float> out) override {
    const torch::NoGradGuard no_gradients;
    script_.module().eval();
    copy_to(forward(batch), out);
  }

 private:
  Tensor forward(const Batch& batch) {
    use_one_torch_thread();
    try {
      Tensor outputs = script_.module().forward({inputs_of(task_, batch)}).toTensor();
      const auto wanted = static_cast<std::int64_t>(batch.size() * this->outputs());
      if (outputs.numel() == wanted) return outputs;
      throw std::runtime_error(
          fmt::format("torchscript: the module returns {} numbers for {} samples where {} are "
                      "wanted",
                      outputs.numel(), batch.size(), wanted));
    } catch (const c10::Error& error) {
      throw std::runtime_error(fmt::format("torchscript: the module failed on a batch of {}: {}",
                                           batch.size(), first_line(error)));
    }
  }

  mutable FlatScript script_;
  Task task_;
  Vector gradient_;
};

// Two made-up samples through the module, before anybody waits for an hour.
void try_module(NodeModel& model, const std::string& file, const Task& task) {
  const Vector features(2 * task.features(), 0.0f), targets(2, 0.0f);
  Vector out(2 * model.outputs());
  try {
    model.predict({features, targets}, out);
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        fmt::format("torchscript: '{}' does not fit the data: {}", file, first_line(error)));
  }
}

}  // namespace

std::string first_line(const std::exception& error) {
  std::string text = error.what();
  if (const auto* of_torch = dynamic_cast<const c10::Error*>(&error))
    text = of_torch->what_without_backtrace();
  // TorchScript puts the trace first and the reason last.
  const std::size_t reason = text.rfind("RuntimeError: ");
  if (reason != std::string::npos) text = text.substr(reason + 14);
  return text.substr(0, text.find('\n'));
}

FlatScript::FlatScript(const std::string& file) : module_(load_module(file)) {
  std::vector<Tensor> flattened;
  for (const auto& parameter : module_.named_parameters()) parameters_.push_back(parameter.value);
  flattened = parameters_;
  for (const auto& buffer : module_.named_buffers()) {
    if (buffer.value.is_floating_point())
      flattened.push_back(buffer.value);
    else
      others_.emplace_back(buffer.value, buffer.value.clone());
  }
  std::size_t size = 0;
  for (const Tensor& tensor : flattened) {
    if (tensor.scalar_type() != torch::kFloat)
      throw std::invalid_argument(
          fmt::format("torchscript: '{}' has a tensor of another type than float32", file));
    size += static_cast<std::size_t>(tensor.numel());
  }
  if (parameters_.empty())
    throw std::invalid_argument(fmt::format("torchscript: '{}' has no parameters", file));
  flat_.resize(size);
  for (const Tensor& tensor : flattened)
    tensors_.push_back(static_cast<std::uint32_t>(tensor.numel()));
  std::size_t at = 0;
  for (std::size_t i = 0; i < flattened.size(); ++i) {
    Tensor& tensor = flattened[i];
    const auto count = static_cast<std::size_t>(tensor.numel());
    copy_to(tensor, std::span(flat_).subspan(at, count));
    tensor.set_data(torch::from_blob(flat_.data() + at, tensor.sizes()));
    at += count;
    if (i < parameters_.size()) {
      trained_ = at;
      tensor.requires_grad_();
    }
  }
}

void FlatScript::reset_other_buffers() {
  const torch::NoGradGuard no_gradients;
  for (auto& [buffer, first] : others_) buffer.copy_(first);
}

ScriptModule::ScriptModule(const Spec& spec, const Task& task) : task_(task) {
  Options options(spec);
  std::vector<std::string_view> names;
  for (const LossKind& kind : losses()) names.push_back(kind.name);
  file_ = options.text("file");
  const std::string loss =
      options.choice("loss", names, task.classes > 0 ? "cross-entropy" : "mse");
  options.done();
  if (loss == "cross-entropy" && task.classes == 0)
    options.refuse("loss", "the data's targets are numbers, not classes; use loss=mse");
  if (loss == "mse") task_.classes = 0;
  FlatScript script(file_);
  initial_ = script.flat();
  tensors_ = script.tensors();
  try_module(*make_node_model(), file_, task_);
}

ScriptModule::~ScriptModule() = default;

std::unique_ptr<NodeModel> ScriptModule::make_node_model() const {
  return std::make_unique<ScriptModel>(file_, task_);
}

}  // namespace tessera
