// The GPUs of a run. Where there are several, a cohort is divided among them in parts of equal
// length, each driven from a thread of its own; models do not depend on how. A GPU that is named
// twice takes two parts, with half of its memory each. Data lies on every GPU once, and what nodes
// remember between rounds lies on the host, where a checkpoint finds it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cuda/busy_time.h"
#include "cuda/trainer.h"
#include "learn/learning.h"

namespace tessera::cuda {

class Gpus {
 public:
  // Throws std::invalid_argument where one is missing or cannot be used.
  // So many threads in all move rows; 0: one per core.
  explicit Gpus(const DeviceOptions& device, unsigned threads = 0);

  std::unique_ptr<Trainer> trainer(const StackedTrainerParts& parts) const;
  std::unique_ptr<Evaluator> evaluator(const StackedEvaluatorParts& parts) const;
  GpuUse use() const;

 private:
  // What each part has in common with others, on GPUs that have this data.
  std::vector<InCommon> places(const Dataset& dataset, const Model& model) const;

  std::vector<DeviceOptions> parts_;  // One GPU each.
  std::map<int, std::shared_ptr<BusyClock>> clocks_;
  unsigned threads_;
};

}  // namespace tessera::cuda
