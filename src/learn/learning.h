// Everything the layers above need to learn: data, who holds which samples, a trainer, an
// evaluator, exporters. make_learning() makes it from options that have been read already.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"
#include "data/dataset.h"
#include "data/datasets.h"
#include "data/partition.h"
#include "learn/device.h"
#include "learn/export.h"
#include "learn/models.h"
#include "learn/training.h"
#include "node/trainer.h"

namespace tessera {

class Bench;
struct Backend;

struct LearningOptions {
  Chosen<DatasetKind> data{};
  ReadPartition partition{};
  std::uint32_t nodes = 1;
  Spec model{};
  TrainingOptions training{};
  DeviceOptions device{};
  unsigned threads = 0;                 // On the CPU; 0 takes one per core.
  std::uint64_t seed = 0;               // Of the partition and the initial parameters.
  std::size_t test_samples = 0;         // Spread evenly over each node's; 0 takes them all.
  std::span<const Backend> backends{};  // Beside the CPU layers.
  std::optional<NodeId> only{};         // The process is this node and keeps its samples alone.
};

// How long GPUs computed for a run, all of them together.
struct GpuUse {
  unsigned gpus = 0;
  double busy_s = 0;
};

struct Learning {
  LoadedData data{};      // Empty where the model needs none.
  Partition partition{};  // Likewise.
  std::unique_ptr<Trainer> trainer{};
  std::unique_ptr<Evaluator> evaluator{};
  std::function<GpuUse()> gpu_use{};  // Null where there is no GPU, or nobody measures it.
  std::vector<std::unique_ptr<Exporter>> exporters{};  // One per format the model can be had in.
  std::string description{};  // "gn-lenet, 89834 parameters, our CPU layers"
};

// What a folder above adds to this one: other ways to run a list of layers, models that are no such
// list, files for other programs. The program hands its list of these to make_learning().
struct Backend {
  std::string_view name{};
  std::span<const ModelKind> models{};
  bool (*runs)(const Model& model, const DeviceOptions& device) = nullptr;
  // `learning` comes with its data and exporters; the rest is filled in.
  void (*learn)(const Model& model, const LearningOptions& options, Learning& learning) = nullptr;
  // The rest may be null.
  std::unique_ptr<Exporter> (*exporter)(const Model& model) = nullptr;
  void (*bench)(Bench& bench) = nullptr;  // A training step beside its own.
};

// Whether one of them is cuda/, with kernels of our own for GPUs.
bool has_gpu_kernels(std::span<const Backend> backends);
inline constexpr std::string_view kBuiltWithoutCuda =
    "device=cuda: this program was built without CUDA: build it where nvcc (the CUDA toolkit) is "
    "found, or use device=cpu";

// All throw std::invalid_argument when an option is wrong or does not fit the data, and
// std::runtime_error when the data cannot be read.
const ModelKind& model_kind(std::string_view name, std::span<const Backend> backends);
struct DealtData {
  LoadedData data{};
  Partition partition{};
};
DealtData load_and_deal(const LearningOptions& options);
Learning make_learning(const LearningOptions& options);
// With data that is loaded and dealt already; the options' own lines are not read.
Learning make_learning(LoadedData data, Partition partition, const LearningOptions& options);

// The exporters of the formats named, as in "safetensors,npz"; the first one where none is named.
// Throws std::invalid_argument when the model cannot be had in one of them.
std::vector<Exporter*> chosen_exporters(const Learning& learning, std::string_view formats);
// DIR/node_0.EXTENSION, DIR/node_1.EXTENSION, ... and DIR/average.EXTENSION in these formats.
// Throws std::runtime_error when it cannot be done.
void export_models(const Learning& learning, std::span<const std::span<const float>> models,
                   const std::filesystem::path& folder, std::string_view formats = {});

// For those who fill in a Learning.
// The lists an evaluator walks: one for all nodes, or each node's own.
std::vector<Indices> test_lists(const Learning& learning, std::size_t test_samples);
std::string describe(std::string_view model, std::size_t parameters, std::string_view path);

}  // namespace tessera
