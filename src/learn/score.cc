#include "learn/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tessera {
namespace {

void add_class(std::span<const float> row, float target, ScoreSum& sum) {
  const auto wanted = static_cast<std::size_t>(target);
  CHECK(wanted < row.size());
  const float top = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (const float value : row) total += std::exp(double{value} - double{top});
  sum.loss += std::log(total) - (double{row[wanted]} - double{top});
  // A NaN anywhere makes the loss one, and then nothing counts as right.
  const bool is_first =
      std::max_element(row.begin(), row.end()) - row.begin() == static_cast<std::ptrdiff_t>(wanted);
  if (is_first && std::isfinite(total)) sum.right += 1;
}

void add_rating(float predicted, float target, ScoreSum& sum) {
  const double error = double{predicted} - double{target};
  sum.loss += error * error;
  const float clipped = std::clamp(predicted, kLowestRating, kHighestRating);
  if (std::abs(clipped - target) <= kRatingTolerance) sum.right += 1;
}

}  // namespace

ScoreSum& ScoreSum::operator+=(const ScoreSum& other) {
  loss += other.loss;
  right += other.right;
  count += other.count;
  return *this;
}

Score ScoreSum::score(const Task& task) const {
  if (count == 0)
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  const double mean = loss / count;
  return {right / count, task.classes > 0 ? mean : std::sqrt(mean)};
}

ScoreSum score_outputs(const Task& task, std::span<const float> outputs,
                       std::span<const float> targets) {
  ScoreSum sum;
  sum.count = static_cast<double>(targets.size());
  const std::size_t width = task.classes > 0 ? task.classes : 1;
  CHECK(outputs.size() == width * targets.size());
  for (std::size_t n = 0; n < targets.size(); ++n) {
    if (task.classes > 0)
      add_class(outputs.subspan(n * width, width), targets[n], sum);
    else
      add_rating(outputs[n], targets[n], sum);
  }
  return sum;
}

}  // namespace tessera
