#include "learn/learning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/table.h"
#include "data/own_data.h"
#include "data/views.h"
#include "learn/amx.h"
#include "learn/cpu_net.h"
#include "learn/cpu_trainer.h"
#include "learn/relays.h"
#include "learn/tensor_export.h"

namespace tessera {
namespace {

[[noreturn]] void refuse_without_torch(std::string_view what, std::string_view remedy) {
  throw std::invalid_argument(
      fmt::format("{} needs LibTorch, and this program was built without it: "
                  "build the preset 'release', or use {}",
                  what, remedy));
}

// No backend runs this. Our kernels for GPUs come first: only what they do not know is LibTorch's.
[[noreturn]] void refuse_device(const Model& model, const LearningOptions& options) {
  if (!options.device.cuda) refuse_without_torch("this mode of device=cpu", "device=cpu");
  if (!has_gpu_kernels(options.backends))
    throw std::invalid_argument(std::string(kBuiltWithoutCuda));
  refuse_without_torch(
      fmt::format("device=cuda: a layer of {} that our kernels for GPUs do not know", model.name),
      "device=cpu");
}

// With data of their own single nodes may have none (learn/relays.h), and a process that is one
// node knows of no other's.
void require_samples(const Learning& learning, const LearningOptions& options) {
  if (options.only) return;
  const bool own_data = options.partition.kind != nullptr && options.partition.kind->own_data;
  for (std::size_t node = 0; node < learning.partition.train.size(); ++node)
    if (learning.partition.train[node].empty() && !own_data)
      throw std::invalid_argument(
          fmt::format("node {} has no training samples: use fewer nodes, or "
                      "another partition",
                      node));
  if (own_data && learning.data.train->size() == 0)
    throw std::invalid_argument(
        fmt::format("no node has training samples of data {}", learning.data.name));
  if (!learning.data.test || learning.data.test->size() == 0)
    throw std::invalid_argument(fmt::format("data {} has no test samples", learning.data.name));
}

std::string path_by(const CpuKernels& kernels) {
  const std::string_view amx = amx_is_emulated() ? ", AMX as AVX-512 emulates it, slowly" : ", AMX";
  return fmt::format("our CPU layers{}{}{}", kernels.winograd ? ", winograd" : "",
                     kernels.amx ? amx : "", kernels.bf16 ? ", bf16" : "");
}

void learn_on_cpu_layers(const Model& model, const LearningOptions& options, Learning& learning) {
  require_whole_vectors(model);
  if (options.device.kernels.bf16) require_bf16(model, options.device.kernels.amx);
  const std::size_t batch_max = std::max(kCpuTestBatch, options.training.batch);
  learn_on_cpu(
      {.task = model.task,
       .initial = initial_parameters(model, Random(options.seed).fork("model")),
       .tensors = model.tensors(),
       .make = [model, batch_max,
                by = options.device.kernels] { return make_cpu_net(model, batch_max, by); }},
      options, learning);
  learning.description = describe(model.name, model.dimension(), path_by(options.device.kernels));
}

void learn_layers(const Model& model, const LearningOptions& options, Learning& learning) {
  learning.exporters.push_back(make_safetensors_exporter(model));
  learning.exporters.push_back(make_npz_exporter(model));
  for (const Backend& backend : options.backends)
    if (backend.exporter) learning.exporters.push_back(backend.exporter(model));
  if (options.device.mode == DeviceOptions::Mode::kAuto)
    return learn_on_cpu_layers(model, options, learning);
  for (const Backend& backend : options.backends)
    if (backend.runs(model, options.device)) return backend.learn(model, options, learning);
  refuse_device(model, options);
}

Learning fill_in(Learning learning, const LearningOptions& options) {
  const ModelKind& kind = model_kind(options.model.name, options.backends);
  if (kind.needs_data) require_samples(learning, options);
  if (const auto* const own = std::get_if<FillIn>(&kind.make)) {
    if (options.device.kernels.bf16) refuse_bf16(options.model.name);
    (*own)(options, learning);
  } else {
    learn_layers(build_model(options.model, learning.data.task), options, learning);
  }
  leave_out_relays(learning, options.only);
  return learning;
}

}  // namespace

bool has_gpu_kernels(std::span<const Backend> backends) {
  return find_entry(backends, "CUDA") != nullptr;
}

const ModelKind& model_kind(std::string_view name, std::span<const Backend> backends) {
  std::vector<ModelKind> all(models().begin(), models().end());
  for (const Backend& backend : backends) {
    if (const ModelKind* const kind = find_entry(backend.models, name)) return *kind;
    all.insert(all.end(), backend.models.begin(), backend.models.end());
  }
  if (const ModelKind* const kind = find_entry(models(), name)) return *kind;
  if (name == "torchscript")
    refuse_without_torch("model=torchscript", "one that `tessera list models` shows");
  return require_entry(std::span<const ModelKind>(all), "model", name);
}

DealtData load_and_deal(const LearningOptions& options) {
  Result<LoadedData> loaded = options.partition.kind->own_data
                                  ? load_own_data(options.data, options.nodes, options.only)
                                  : load_dataset(options.data);
  DealtData dealt{.data = or_throw(std::move(loaded))};
  dealt.partition = partition_data(dealt.data, options.partition, options.nodes,
                                   Random(options.seed).fork("partition"));
  if (options.only) keep_own(dealt.data, dealt.partition, *options.only, options.test_samples);
  return dealt;
}

Learning make_learning(const LearningOptions& options) {
  if (!model_kind(options.model.name, options.backends).needs_data) return fill_in({}, options);
  auto [data, partition] = load_and_deal(options);
  return make_learning(std::move(data), std::move(partition), options);
}

Learning make_learning(LoadedData data, Partition partition, const LearningOptions& options) {
  return fill_in({.data = std::move(data), .partition = std::move(partition)}, options);
}

std::vector<Exporter*> chosen_exporters(const Learning& learning, std::string_view formats) {
  std::vector<Exporter*> chosen;
  std::vector<std::string_view> known;
  for (const auto& exporter : learning.exporters) known.push_back(exporter->extension());
  if (known.empty())
    throw std::invalid_argument(
        fmt::format("--export: there is no file format for a {}", learning.description));
  if (formats.empty()) return {learning.exporters.front().get()};
  for (std::string_view rest = formats; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw std::invalid_argument(
          fmt::format("--export-as: '{}' is no format this program has for a {}. Known: {}.", name,
                      learning.description, fmt::join(known, ", ")));
    chosen.push_back(learning.exporters[static_cast<std::size_t>(found - known.begin())].get());
  }
  return chosen;
}

void export_models(const Learning& learning, std::span<const std::span<const float>> models,
                   const std::filesystem::path& folder, std::string_view formats) {
  for (Exporter* const exporter : chosen_exporters(learning, formats))
    if (const auto saved = export_models(*exporter, models, folder); !saved)
      throw std::runtime_error("--export: " + saved.error().message);
}

std::vector<Indices> test_lists(const Learning& learning, std::size_t test_samples) {
  std::vector<Indices> lists = learning.partition.test;
  const std::size_t all = learning.data.test->size();
  if (lists.empty()) lists.push_back(spread(all, all));
  for (Indices& list : lists) {
    if (test_samples == 0 || test_samples >= list.size()) continue;
    Indices fewer = spread(list.size(), test_samples);
    for (std::uint32_t& place : fewer) place = list[place];
    list = std::move(fewer);
  }
  return lists;
}

std::string describe(std::string_view model, std::size_t parameters, std::string_view path) {
  return fmt::format("{}, {} parameters, {}", model, parameters, path);
}

}  // namespace tessera
