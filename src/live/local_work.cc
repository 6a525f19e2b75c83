#include "live/local_work.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"

namespace tessera {

void LocalWork::start_training() {
  CHECK(wanted_.has_value());
  ++trainings_;
  worker_.post([this, wanted = std::move(*wanted_)]() mutable {
    TrainingDone done;
    TrainJob job{.node = parts_.id, .model = wanted.model, .random = wanted.random};
    const auto due = std::chrono::steady_clock::now() + parts_.pace_min;
    try {
      parts_.trainer->train(std::span(&job, 1));
      std::this_thread::sleep_until(due);
    } catch (...) {
      done.failure = std::current_exception();
    }
    done.trained = {std::move(wanted.model), job.loss};
    post_done(std::move(done));
  });
  wanted_.reset();
}

void LocalWork::evaluate(const RuntimeRow& row, const Vector& model) {
  ++evaluations_;
  worker_.post([this, row, model]() mutable {
    EvaluationDone done{.row = row};
    const std::span<const float> view(model);
    try {
      done.row.score = parts_.evaluator->evaluate(std::span(&parts_.id, 1), {&view, 1}).front();
    } catch (...) {
      done.failure = std::current_exception();
    }
    post_done(std::move(done));
  });
}

void LocalWork::post_done(WorkDone done) {
  {
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(done));
  }
  parts_.on_done();
}

std::optional<WorkDone> LocalWork::take(bool trained_too) {
  const std::lock_guard lock(mutex_);
  if (done_.empty()) return std::nullopt;
  const bool trained = std::holds_alternative<TrainingDone>(done_.front());
  if (trained && !trained_too) return std::nullopt;
  --(trained ? trainings_ : evaluations_);
  std::optional<WorkDone> done = std::move(done_.front());
  done_.pop_front();
  return done;
}

}  // namespace tessera
