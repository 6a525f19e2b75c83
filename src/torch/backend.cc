#include "torch/backend.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "learn/cpu_trainer.h"
#include "torch/door/door.h"
#include "torch/libtorch.h"
#include "torch/reference_model.h"
#include "torch/script_export.h"
#include "torch/stacked_trainer.h"
#include "torch/torchscript.h"
#include "torch/train_bench.h"

namespace tessera {
namespace {

// Built-in models come here where the program has no kernels of our own; then those are the remedy.
[[noreturn]] void refuse_cuda(const Model& model, const LearningOptions& options) {
  constexpr std::string_view kWhy =
      "was built without CUDA, or there is no NVIDIA GPU or no driver";
  if (!has_gpu_kernels(options.backends))
    throw std::invalid_argument(
        fmt::format("{}. LibTorch cannot stand in: it {}", kBuiltWithoutCuda, kWhy));
  throw std::invalid_argument(
      fmt::format("device=cuda: our kernels for GPUs do not know a layer of {}, and LibTorch {}; "
                  "use device=cpu",
                  model.name, kWhy));
}

void require_cuda(const Model& model, const LearningOptions& options) {
  if (!torch::cuda::is_available()) refuse_cuda(model, options);
  const int index = options.device.index;
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (index >= count)
    throw std::invalid_argument(
        fmt::format("device: there is no GPU {}: {} found, counted from 0", index, count));
}

Vector initial_of(const Model& model, const LearningOptions& options) {
  return initial_parameters(model, Random(options.seed).fork("model"));
}

void learn_stacked(const Model& model, const LearningOptions& options, Learning& learning) {
  const DeviceOptions& device = options.device;
  if (device.precision == DeviceOptions::Precision::kTf32)
    throw std::invalid_argument(fmt::format(
        "device: {} runs on LibTorch, in float32: leave precision=tf32 out", model.name));
  require_plain_sgd(options.training, device.cuda ? "device=cuda" : "device=cpu:mode=stacked",
                    "use device=cpu");
  if (device.gpus.size() > 1)
    throw std::invalid_argument(
        fmt::format("device: {} runs on LibTorch, on one GPU and not on {}: use device=cuda:{}",
                    model.name, device.gpus.size(), device.index));
  if (device.cuda) require_cuda(model, options);
  learning.trainer = make_stacked_trainer(stacked_trainer_parts(model, options, learning));
  learning.evaluator = make_stacked_evaluator(stacked_evaluator_parts(model, options, learning));
  learning.description =
      describe(model.name, model.dimension(),
               device.cuda ? "LibTorch, stacked on the GPU" : "LibTorch, stacked on the CPU");
}

void learn_with_torch(const Model& model, const LearningOptions& options, Learning& learning) {
  if (options.device.mode == DeviceOptions::Mode::kStacked)
    return learn_stacked(model, options, learning);
  learn_on_cpu({.task = model.task,
                .initial = initial_of(model, options),
                .tensors = model.tensors(),
                .make = [model] { return make_reference_model(model); }},
               options, learning);
  learning.description = describe(model.name, model.dimension(), "LibTorch, autograd");
}

void learn_module(const LearningOptions& options, Learning& learning) {
  if (options.device.mode != DeviceOptions::Mode::kAuto)
    throw std::invalid_argument("torchscript: modules train on device=cpu only");
  const auto module = std::make_shared<ScriptModule>(options.model, learning.data.task);
  learn_on_cpu({.task = module->task(),
                .initial = module->initial(),
                .tensors = module->tensors(),
                .make = [module] { return module->make_node_model(); }},
               options, learning);
  learning.exporters.push_back(make_script_exporter(module->file()));
  learning.description = describe("torchscript", module->initial().size(), "LibTorch, autograd");
}

}  // namespace

const Backend& torch_backend() {
  static constexpr std::array kModels = {torchscript_model(learn_module)};
  static constexpr Backend kBackend{
      .name = "LibTorch",
      .models = kModels,
      .runs = [](const Model&, const DeviceOptions&) { return true; },
      .learn = learn_with_torch,
      .exporter = [](const Model& model) { return make_script_exporter(model); },
      .bench = bench_training};
  return kBackend;
}

}  // namespace tessera
