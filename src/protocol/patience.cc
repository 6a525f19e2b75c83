#include "protocol/patience.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {

Duration Patience::limit() const {
  CHECK(!endless());
  if (!learnt_) return options_.wait_max;
  return std::clamp(mean_ + 4 * deviation_, options_.wait_min, options_.wait_max);
}

void Patience::learn(Duration wait) {
  // A damaged checkpoint may have been told at a moment to come.
  wait = std::clamp(wait, Duration::zero(), options_.wait_max);
  if (!learnt_) {
    learnt_ = true;
    mean_ = wait;
    deviation_ = wait / 2;
    return;
  }
  const Duration off = wait > mean_ ? wait - mean_ : mean_ - wait;
  deviation_ += (off - deviation_) / 4;
  mean_ += (wait - mean_) / 8;
}

void Patience::fields(Archive& archive) {
  archive(learnt_, mean_, deviation_);
  for (const Duration learnt : {mean_, deviation_})
    archive.require(learnt >= Duration::zero() && learnt <= options_.wait_max,
                    "a saved patience is longer than this run's");
}

}  // namespace tessera
