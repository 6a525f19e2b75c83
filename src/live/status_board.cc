#include "live/status_board.h"

#include <algorithm>
#include <utility>

namespace tessera {

void StatusBoard::post(Instant now, NodeStatus status) {
  posted_at_ = now;
  note_jump(now, status);
  for (const auto& [word, count] : refusals_) status.refusals[word] += count;
  status.seconds_left = seconds_left(now, status);
  const std::lock_guard lock(mutex_);
  const double train_loss = status.learning.train_loss;
  status.learning = status_.learning;
  status.learning.train_loss = train_loss;
  status_ = std::move(status);
}

void StatusBoard::begin(Instant now, Round round, Instant until) {
  begun_ = {now, round, until};
}

// A node that joins others in their round has not made the rounds before it, and says nothing by
// them of how long the rest will take. One that skips a few now and then goes on at that pace.
void StatusBoard::note_jump(Instant now, const NodeStatus& status) {
  constexpr std::uint64_t kJump = 10;
  const Last before = std::exchange(last_, {status.round, status.age});
  if (!begun_ || status.round <= before.round) return;
  const std::uint64_t made = status.round - before.round;
  const std::uint64_t trained = status.age - std::min(status.age, before.age);
  const std::uint64_t earlier = before.round - std::min(before.round, begun_->round);
  if (made > trained + kJump && made > earlier) begun_ = {now, status.round, begun_->until};
}

// Unknown before the first round of this process is complete.
std::optional<double> StatusBoard::seconds_left(Instant now, const NodeStatus& status) const {
  if (status.state == "finished") return 0;
  if (!begun_) return std::nullopt;
  std::optional<double> left;
  if (status.rounds > 0 && status.round > begun_->round)
    left = to_seconds(now - begun_->at) / (status.round - begun_->round) *
           (status.rounds - std::min(status.rounds, status.round));
  if (begun_->until != kNever) {
    const double at_most = std::max(0.0, to_seconds(begun_->until - now));
    left = std::min(left.value_or(at_most), at_most);
  }
  return left;
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
