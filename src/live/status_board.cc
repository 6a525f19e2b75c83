#include "live/status_board.h"

#include <utility>

namespace tessera {

void StatusBoard::post(Instant now, NodeStatus status) {
  posted_at_ = now;
  for (const auto& [word, count] : refusals_) status.refusals[word] += count;
  const std::lock_guard lock(mutex_);
  const double train_loss = status.learning.train_loss;
  status.learning = status_.learning;
  status.learning.train_loss = train_loss;
  status_ = std::move(status);
}

void StatusBoard::post_evaluation(const RuntimeRow& row) {
  const std::lock_guard lock(mutex_);
  status_.learning.evaluated_round = row.round;
  status_.learning.accuracy = row.score.accuracy;
  status_.learning.loss = row.score.loss;
}

NodeStatus StatusBoard::read() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace tessera
