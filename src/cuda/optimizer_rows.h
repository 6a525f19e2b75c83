// What the optimizer keeps of every node, and how it goes to the GPU beside the nodes' models.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "cuda/optimizer_kernels.h"
#include "learn/optimizer.h"

namespace tessera::cuda {

// One of `count` nodes that are trained together: rows are [1 + moments][count][dimension], models
// first.
struct RowPlace {
  NodeId node{};
  std::size_t at = 0, count = 0, dimension = 0;
};

class OptimizerRows {
 public:
  // `states` are filled up to as many as there are nodes; others may keep theirs there too.
  OptimizerRows(const TrainingOptions& training,
                std::shared_ptr<std::vector<OptimizerState>> states, std::size_t nodes);

  void fields(Archive& archive);
  std::size_t rows_of_node() const { return 1 + training_.moments(); }
  // A node begins a round: its moments into the rows, and the numbers of its steps, [step][count].
  void put(const RowPlace& place, float* rows, StepRates* rates);
  // Its moments when it has trained.
  void take(const RowPlace& place, const float* rows);

  // What is the same for all nodes.
  Descent descent() const;
  // Whether nothing happens to parameters whose gradient is zero.
  bool sparse() const;
  // The rows' moments, where they lie in working order.
  MomentRows moments(float* rows, std::size_t count, std::size_t dimension) const;

 private:
  TrainingOptions training_;
  std::shared_ptr<std::vector<OptimizerState>> states_;
};

}  // namespace tessera::cuda
