// Training and evaluating many nodes at once on our own kernels. A cohort goes through in chunks,
// up to four of them in flight, the earlier before the later: while some compute, the rows of
// others travel, and whoever began the cohort goes on with those that are back.
//
// Which samples a node draws is what the CPU trainer draws too; results agree up to rounding.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cuda/busy_time.h"
#include "cuda/resident_data.h"
#include "learn/optimizer.h"
#include "learn/stacked_parts.h"
#include "node/trainer.h"

namespace tessera::cuda {

// What one GPU's trainer or evaluator has in common with others.
struct InCommon {
  std::shared_ptr<const ResidentData> data{};  // On this GPU.
  std::shared_ptr<BusyClock> clock{};          // Of this GPU.
  // What optimizers keep, by node: any GPU may train any node.
  std::shared_ptr<std::vector<OptimizerState>> states{};
  unsigned threads = 0;  // That move rows; 0: one per core.
};

// On the calling thread's GPU, which is the parts' own.
std::unique_ptr<Trainer> make_trainer(StackedTrainerParts parts, InCommon in_common);
std::unique_ptr<Evaluator> make_evaluator(StackedEvaluatorParts parts, InCommon in_common);

// The bytes of the GPU's memory that may be used.
std::uint64_t memory_for(const DeviceOptions& device);

// What nodes would take of the GPU's memory, and what is said where that is not there.
struct Need {
  std::string_view what{};  // "training" or "evaluating"
  std::string_view model{};
  std::size_t nodes = 0;
  std::uint64_t bytes_each = 0;
  std::uint64_t in_flight = 1;  // Chunks at a time.
};
[[noreturn]] void refuse_for_room(const Need& need, std::uint64_t free_bytes);

}  // namespace tessera::cuda
