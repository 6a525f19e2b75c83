// The mean of several models and how far apart they are, from one pass over each: memory is a few
// models, however many are added. Sums are in double precision and in the order of the calls.
//
//   Sums are of differences from the first model, y_i = x_i - x_0, with mean y; then
//   1/n sum |x_i - x|^2  =  1/n sum |y_i|^2 - |y|^2,
//   and models that agree lose no digits there, as they would with x_0 = 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "node/trainer.h"
#include "report/metrics.h"

namespace tessera {

class ModelSum {
 public:
  void add(std::span<const float> model);  // All of one length.

  std::uint32_t count() const { return count_; }
  std::size_t dimension() const { return first_.size(); }
  Vector mean() const;      // Of one model at least.
  double distance() const;  // Root mean square of the distances from the mean.

  void fields(Archive& archive);

 private:
  Vector first_{};
  std::vector<double> sums_{};
  double squares_ = 0;
  std::uint32_t count_ = 0;
};

// What the mean of these nodes' models is worth; nothing where there are none. Where nodes are
// tested on samples of their own, it is tested on those of each, and the scores are averaged.
std::optional<MergedFigures> merged_figures(const ModelSum& models, std::span<const NodeId> nodes,
                                            Evaluator& evaluator);

}  // namespace tessera
