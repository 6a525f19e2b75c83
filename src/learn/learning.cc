#include "learn/learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/spec.h"
#include "base/table.h"
#include "data/views.h"
#include "learn/cpu_trainer.h"
#include "learn/device.h"
#include "learn/models.h"
#include "learn/reference_model.h"
#include "learn/stacked_trainer.h"
#include "learn/torchscript.h"

namespace tessera {
namespace {

// Samples per batch when evaluating on the CPU: more would fall out of the nearer caches.
constexpr std::size_t kTestBatch = 16;

// The lists the evaluator walks: the whole test half for everybody, or each node's own.
std::vector<Indices> test_lists(const LoadedData& data, const Partition& partition,
                                std::size_t count) {
  std::vector<Indices> lists = partition.test;
  if (lists.empty()) lists.push_back(spread(data.test->size(), data.test->size()));
  for (Indices& list : lists) {
    if (count == 0 || count >= list.size()) continue;
    Indices fewer = spread(list.size(), count);
    for (std::uint32_t& place : fewer) place = list[place];
    list = std::move(fewer);
  }
  return lists;
}

void require_samples(const LoadedData& data, const Partition& partition) {
  for (std::size_t node = 0; node < partition.train.size(); ++node)
    if (partition.train[node].empty())
      throw std::invalid_argument(fmt::format(
          "node {} has no training samples: use fewer nodes, or another partition", node));
  if (!data.test || data.test->size() == 0)
    throw std::invalid_argument(fmt::format("data {} has no test samples", data.name));
}

std::string describe(std::string_view model, std::size_t dimension, std::string_view how) {
  return fmt::format("{}, {} parameters, {}", model, dimension, how);
}

Learning on_cpu(const LoadedData& data, const Partition& partition, const LearningOptions& options,
                const Task& task, Vector initial, std::vector<std::uint32_t> tensors,
                MakeNodeModel make_model) {
  Learning learning;
  learning.trainer = make_cpu_trainer({.initial = std::move(initial),
                                       .tensors = std::move(tensors),
                                       .make_model = make_model,
                                       .task = task,
                                       .train = data.train,
                                       .node_samples = partition.train,
                                       .sgd = parse_training(options.training),
                                       .threads = options.threads});
  learning.evaluator =
      make_cpu_evaluator({.make_model = std::move(make_model),
                          .task = task,
                          .test = data.test,
                          .node_samples = test_lists(data, partition, options.test_samples),
                          .batch = kTestBatch,
                          .threads = options.threads});
  return learning;
}

Learning with_module(const LoadedData& data, const Partition& partition,
                     const LearningOptions& options) {
  if (parse_device(options.device).mode != DeviceOptions::Mode::kAuto)
    throw std::invalid_argument("torchscript: modules train on device=cpu only");
  const auto module = std::make_shared<ScriptModule>(options.model, data.task);
  Learning learning = on_cpu(data, partition, options, module->task(), module->initial(),
                             module->tensors(), [module] { return module->make_node_model(); });
  learning.exporter = make_script_exporter(module->file());
  learning.description = describe("torchscript", module->initial().size(), "under autograd");
  return learning;
}

Learning stacked(const LoadedData& data, const Partition& partition, const LearningOptions& options,
                 const Model& model, const DeviceOptions& device, Vector initial) {
  Learning learning;
  learning.trainer = make_stacked_trainer({.model = model,
                                           .initial = std::move(initial),
                                           .train = data.train,
                                           .node_samples = partition.train,
                                           .sgd = parse_training(options.training),
                                           .device = device});
  learning.evaluator =
      make_stacked_evaluator({.model = model,
                              .test = data.test,
                              .node_samples = test_lists(data, partition, options.test_samples),
                              .device = device});
  learning.description = describe(model.name, model.dimension(),
                                  device.cuda ? "stacked on the GPU" : "stacked on the CPU");
  return learning;
}

}  // namespace

Learning make_learning(const LoadedData& data, const Partition& partition,
                       const LearningOptions& options) {
  require_samples(data, partition);
  const std::string name = parse_spec(options.model).name;
  require_entry(models(), "model", name);
  if (name == "torchscript") return with_module(data, partition, options);

  const DeviceOptions device = parse_device(options.device);
  const Model model = build_model(options.model, data.task);
  const std::size_t batch_max = std::max(kTestBatch, parse_training(options.training).batch);
  Vector initial = initial_parameters(model, Random(options.seed).fork("model"));
  Learning learning;
  if (device.mode == DeviceOptions::Mode::kStacked) {
    learning = stacked(data, partition, options, model, device, std::move(initial));
  } else {
    const bool by_hand = device.mode == DeviceOptions::Mode::kAuto && make_net(model, 1);
    const auto make_model = [model, by_hand, batch_max] {
      return by_hand ? make_net(model, batch_max) : make_reference_model(model);
    };
    learning = on_cpu(data, partition, options, model.task, std::move(initial), model.tensors(),
                      make_model);
    learning.description = describe(model.name, model.dimension(),
                                    by_hand ? "hand-written kernels" : "under autograd");
  }
  learning.exporter = make_exporter(model);
  return learning;
}

}  // namespace tessera
