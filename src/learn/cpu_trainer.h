// Training and evaluating on the CPU: one node per thread, each thread with a model and a batch of
// its own. What a node's result is depends on its vector, its samples and its Random alone, so any
// number of threads gives the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "learn/learning.h"
#include "learn/node_model.h"
#include "learn/training.h"
#include "node/trainer.h"

namespace tessera {

// Makes one more model for one more thread.
using MakeNodeModel = std::function<std::unique_ptr<NodeModel>()>;

struct CpuTrainerParts {
  Vector initial{};
  std::vector<std::uint32_t> tensors{};  // See Trainer.
  MakeNodeModel make_model{};
  Task task{};
  std::shared_ptr<const Dataset> train{};
  std::vector<Indices> node_samples{};  // Of the training set, per node.
  TrainingOptions training{};
  unsigned threads = 1;  // 0: one per core.
};

std::unique_ptr<Trainer> make_cpu_trainer(CpuTrainerParts parts);

struct CpuEvaluatorParts {
  MakeNodeModel make_model{};
  Task task{};
  std::shared_ptr<const Dataset> test{};
  // Which samples: one list for all nodes, or a list per node.
  std::vector<Indices> node_samples{};
  std::size_t batch = 16;  // At most what the models were made for.
  unsigned threads = 1;
};

std::unique_ptr<Evaluator> make_cpu_evaluator(CpuEvaluatorParts parts);

// Samples per batch when evaluating: more would fall out of the nearer caches.
constexpr std::size_t kCpuTestBatch = 16;

// What training on the CPU needs to know of a model.
struct CpuModel {
  Task task{};
  Vector initial{};
  std::vector<std::uint32_t> tensors{};
  MakeNodeModel make{};  // For batches of kCpuTestBatch and of the training's own size.
};

// Fills in a trainer and an evaluator that run it, one node per thread.
void learn_on_cpu(CpuModel model, const LearningOptions& options, Learning& learning);

}  // namespace tessera
