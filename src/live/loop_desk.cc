#include "live/loop_desk.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tessera {

// A model is tested before the loop hears that it was the last. A node whose peers have all
// finished may be gone before the loop looks: the run has come to its end all the same.
LoopDesk::Call LoopDesk::current() const {
  if (pending()) return call_;
  if (finished_ && (last_tested_ || !tests_)) return Call::kFinished;
  return ended_ ? Call::kEnded : Call::kNothingYet;
}

LoopDesk::Call LoopDesk::wait(Duration patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return current() != Call::kNothingYet; });
  const Call call = current();
  if (call == Call::kFinished || (call == Call::kEnded && finished_)) model_ = last_;
  return call;
}

void LoopDesk::trained(Vector model, float loss, std::string memory) {
  const std::lock_guard lock(mutex_);
  if (!pending() || call_ != Call::kTrain) return;
  CHECK(model.size() == model_.size());
  model_ = std::move(model);
  score_.loss = loss;
  memory_ = std::move(memory);
  answered_ = true;
  changed_.notify_all();
}

void LoopDesk::tested(const Score& score) {
  const std::lock_guard lock(mutex_);
  if (!pending() || call_ != Call::kTest) return;
  score_ = score;
  answered_ = true;
  changed_.notify_all();
}

std::optional<std::string> LoopDesk::take_restored() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(restored_, false)) return std::nullopt;
  return memory_;
}

bool LoopDesk::wait_for_end(Duration patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return ended_; });
}

void LoopDesk::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

// One call at a time: the node trains and tests on one thread.
void LoopDesk::ask(std::unique_lock<std::mutex>& lock, Call call, std::span<const float> model) {
  if (left_) throw WorkAbandoned();
  CHECK(call_ == Call::kNothingYet);
  call_ = call;
  answered_ = false;
  model_.assign(model.begin(), model.end());
  changed_.notify_all();
  changed_.wait(lock, [this] { return answered_ || left_; });
  call_ = Call::kNothingYet;
  if (!answered_) throw WorkAbandoned();
}

void LoopDesk::train(TrainJob& job) {
  std::unique_lock lock(mutex_);
  finished_ = false;  // A node that has diverged goes back, from its last round too.
  seed_ = Random(job.random).bits64();
  ask(lock, Call::kTrain, job.model);
  std::copy(model_.begin(), model_.end(), job.model.begin());
  job.loss = static_cast<float>(score_.loss);
}

Score LoopDesk::test(std::span<const float> model) {
  std::unique_lock lock(mutex_);
  if (tests_) ask(lock, Call::kTest, model);
  last_tested_ = finished_ && std::equal(model.begin(), model.end(), last_.begin(), last_.end());
  changed_.notify_all();
  return tests_ ? score_ : Score{};
}

void LoopDesk::finish(const Vector& model) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  last_tested_ = false;
  last_ = model;
  changed_.notify_all();
}

void LoopDesk::end() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  ended_ = true;
  changed_.notify_all();
}

void LoopDesk::fields(Archive& archive) {
  const std::lock_guard lock(mutex_);
  archive(memory_);
  restored_ = restored_ || archive.loading();
}

}  // namespace tessera
