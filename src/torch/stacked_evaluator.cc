// The evaluator of stacked_trainer.h: K models at a time over the test set. Where all nodes are
// tested on the same samples these are read once for all of them; where each has its own, a batch
// holds the next ones of every node, and lists that have ended are filled up with samples that do
// not count.
#include <algorithm>

#include "base/check.h"
#include "learn/score.h"
#include "torch/device_state.h"
#include "torch/stacked_layers.h"
#include "torch/stacked_trainer.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

using torch::Tensor;

std::int64_t whole(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

// Sums per node, in double precision on the device.
struct DeviceSums {
  Tensor loss, right, count;
};

class StackedEvaluator final : public Evaluator {
 public:
  explicit StackedEvaluator(StackedEvaluatorParts parts)
      : parts_(std::move(parts)),
        state_(parts_.device),
        data_(state_.load(*parts_.test, parts_.model.task)) {}

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    CHECK(nodes.size() == models.size());
    use_one_torch_thread();
    const torch::NoGradGuard no_gradients;
    const std::size_t chunk = state_.chunk_for(parts_.model, kBatchMax);
    std::vector<Score> scores;
    for (std::size_t start = 0; start < nodes.size(); start += chunk) {
      const std::size_t count = std::min(chunk, nodes.size() - start);
      evaluate_chunk(nodes.subspan(start, count), models.subspan(start, count), scores);
    }
    return scores;
  }
  bool own_samples() const override { return parts_.node_samples.size() > 1; }

 private:
  static constexpr std::size_t kBatchMax = 256;

  void evaluate_chunk(std::span<const NodeId> nodes, std::span<const std::span<const float>> models,
                      std::vector<Score>& scores) const;
  void add_batch(const stacked::Parameters& parameters, const Tensor& samples,
                 const Tensor& counted, DeviceSums& sums) const;
  const Indices& samples_of(NodeId node) const {
    if (parts_.node_samples.size() == 1) return parts_.node_samples.front();
    CHECK(node < parts_.node_samples.size());
    return parts_.node_samples[node];
  }
  // Samples [B, columns] from place `start` of each list, and which of them count.
  std::pair<Tensor, Tensor> batch_at(std::span<const NodeId> nodes, std::size_t start,
                                     std::size_t longest) const;

  StackedEvaluatorParts parts_;
  DeviceState state_;
  ResidentData data_;
};

void StackedEvaluator::evaluate_chunk(std::span<const NodeId> nodes,
                                      std::span<const std::span<const float>> models,
                                      std::vector<Score>& scores) const {
  const std::int64_t count = whole(nodes.size());
  Tensor host = state_.host_tensor({count, whole(parts_.model.dimension())}, torch::kFloat);
  auto* row = host.data_ptr<float>();
  for (const auto model : models) {
    CHECK(model.size() == parts_.model.dimension());
    row = std::copy(model.begin(), model.end(), row);
  }
  const stacked::Parameters parameters = stacked::split(parts_.model, host.to(state_.device()));
  const auto zeros = [&] {
    return torch::zeros({count}, torch::TensorOptions(state_.device()).dtype(torch::kFloat64));
  };
  DeviceSums sums{zeros(), zeros(), zeros()};
  std::size_t longest = 0;
  for (const NodeId node : nodes) longest = std::max(longest, samples_of(node).size());
  // Nodes that share their samples share one column of them.
  const auto lists = parts_.node_samples.size() == 1 ? nodes.first(1) : nodes;
  for (std::size_t start = 0; start < longest; start += kBatchMax) {
    const auto [samples, counted] = batch_at(lists, start, longest);
    add_batch(parameters, samples, counted, sums);
  }
  const Tensor all = torch::stack({sums.loss, sums.right, sums.count}).cpu();
  const auto* const values = all.data_ptr<double>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ScoreSum sum{values[i], values[nodes.size() + i], values[2 * nodes.size() + i]};
    scores.push_back(sum.score(parts_.model.task));
  }
}

std::pair<Tensor, Tensor> StackedEvaluator::batch_at(std::span<const NodeId> nodes,
                                                     std::size_t start, std::size_t longest) const {
  const std::size_t batch = std::min(kBatchMax, longest - start), columns = nodes.size();
  Tensor samples = torch::zeros({whole(batch), whole(columns)}, torch::kInt64);
  Tensor counted = torch::zeros({whole(batch), whole(columns)});
  for (std::size_t column = 0; column < columns; ++column) {
    const Indices& own = samples_of(nodes[column]);
    for (std::size_t i = 0; i < batch && start + i < own.size(); ++i) {
      samples.data_ptr<std::int64_t>()[i * columns + column] = std::int64_t{own[start + i]};
      counted.data_ptr<float>()[i * columns + column] = 1;
    }
  }
  return {samples.to(state_.device()), counted.to(state_.device())};
}

void StackedEvaluator::add_batch(const stacked::Parameters& parameters, const Tensor& samples,
                                 const Tensor& counted, DeviceSums& sums) const {
  const Tensor chosen = samples.flatten();
  const Tensor features =
      data_.features.index_select(0, chosen).view({samples.size(0), samples.size(1), -1});
  const Tensor targets = data_.targets.index_select(0, chosen).view(samples.sizes());
  const Tensor outputs = stacked::forward(parts_.model, parameters, features);
  const Tensor losses = stacked::losses(parts_.model, outputs, targets);  // [K, B]
  const Tensor wanted = targets.t();
  const Tensor right =
      parts_.model.task.classes > 0
          ? (outputs.argmax(2) == wanted.to(torch::kInt64)).logical_and(losses.isfinite())
          : (outputs.squeeze(2).clamp(kLowestRating, kHighestRating) - wanted).abs() <=
                kRatingTolerance;
  const Tensor weights = counted.t().to(torch::kFloat64);
  // Samples that fill up a batch are left out rather than multiplied by zero: theirs may be NaN.
  sums.loss += losses.to(torch::kFloat64).masked_fill(weights == 0, 0).sum(1);
  sums.right += (right.to(torch::kFloat64) * weights).sum(1);
  sums.count += weights.sum(1);
}

}  // namespace

std::unique_ptr<Evaluator> make_stacked_evaluator(StackedEvaluatorParts parts) {
  return std::make_unique<StackedEvaluator>(std::move(parts));
}

}  // namespace tessera
