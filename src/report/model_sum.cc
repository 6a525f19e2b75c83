#include "report/model_sum.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "math/vector_ops.h"

namespace tessera {
namespace {

Score score_of(std::span<const float> model, std::span<const NodeId> nodes, Evaluator& evaluator) {
  if (!evaluator.own_samples()) nodes = nodes.first(1);
  const std::vector<std::span<const float>> copies(nodes.size(), model);
  const std::vector<Score> scores = evaluator.evaluate(nodes, copies);
  const auto tested = static_cast<double>(std::count_if(
      scores.begin(), scores.end(), [](const Score& score) { return score.tested(); }));
  if (tested == 0) return kNotTested;
  Score mean;
  for (const Score& score : scores) {
    if (!score.tested()) continue;
    mean.accuracy += score.accuracy / tested;
    mean.loss += score.loss / tested;
  }
  return mean;
}

}  // namespace

void ModelSum::add(std::span<const float> model) {
  if (count_++ == 0) {
    first_.assign(model.begin(), model.end());
    sums_.assign(model.size(), 0);
    return;
  }
  CHECK(model.size() == first_.size());
  std::array<double, 8> squares{};  // By lane.
  for (std::size_t i = 0; i < model.size(); ++i) {
    const double difference = double{model[i]} - double{first_[i]};
    sums_[i] += difference;
    squares[i % squares.size()] += difference * difference;
  }
  for (const double lane : squares) squares_ += lane;
}

Vector ModelSum::mean() const {
  CHECK(count_ > 0);
  Vector mean(first_.size());
  for (std::size_t i = 0; i < mean.size(); ++i)
    mean[i] = static_cast<float>(double{first_[i]} + sums_[i] / count_);
  return mean;
}

double ModelSum::distance() const {
  double of_mean = 0;
  for (const double sum : sums_) of_mean += (sum / count_) * (sum / count_);
  return std::sqrt(std::max(0.0, squares_ / count_ - of_mean));
}

void ModelSum::fields(Archive& archive) {
  archive(first_, sums_, squares_, count_);
  archive.require(sums_.size() == first_.size() && (count_ > 0 || first_.empty()),
                  "a sum of models is of another length");
}

std::optional<MergedFigures> merged_figures(const ModelSum& models, std::span<const NodeId> nodes,
                                            Evaluator& evaluator) {
  if (models.count() == 0) return std::nullopt;
  const Vector mean = models.mean();
  const double norm = std::sqrt(squared_norm(mean)), distance = models.distance();
  return MergedFigures{.score = score_of(mean, nodes, evaluator),
                       .distance = distance,
                       .relative_distance = norm > 0 ? distance / norm : 0};
}

}  // namespace tessera
