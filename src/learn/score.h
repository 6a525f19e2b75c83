// From a model's outputs to a Score. Classes: mean cross-entropy, and the fraction of samples whose
// largest output is the right one. Ratings: root mean square error, and the fraction of predictions
// that are within half a star of the truth once clipped to the scale of 0.5 to 5.
#pragma once

#include <cstddef>
#include <span>

#include "data/dataset.h"
#include "node/trainer.h"

namespace tessera {

constexpr float kLowestRating = 0.5f, kHighestRating = 5.0f, kRatingTolerance = 0.5f;

// Sums over samples, so that parts of a test set can be scored apart and added in order.
struct ScoreSum {
  double loss = 0;  // Of cross-entropies or squared errors.
  double right = 0;
  double count = 0;

  ScoreSum& operator+=(const ScoreSum& other);
  // No samples score NaN: there is nothing to say, and zero would say something.
  Score score(const Task& task) const;
};

// `outputs` holds one row per target.
ScoreSum score_outputs(const Task& task, std::span<const float> outputs,
                       std::span<const float> targets);

}  // namespace tessera
