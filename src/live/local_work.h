// Training and evaluation, on a thread beside the event loop. One job runs at a time, in the order
// they were started.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>

#include "live/runtime_observer.h"
#include "live/runtime_worker.h"
#include "node/env.h"
#include "node/trainer.h"

namespace tessera {

struct TrainingDone {
  Trained trained{};
  std::exception_ptr failure{};
};
struct EvaluationDone {
  RuntimeRow row{};
  std::exception_ptr failure{};
};
using WorkDone = std::variant<TrainingDone, EvaluationDone>;

struct LocalWorkParts {
  NodeId id = 0;
  Trainer* trainer = nullptr;
  Evaluator* evaluator = nullptr;
  Duration pace_min{};  // Training takes at least this long: to stand in for slower machines.
  std::function<void()> on_done{};  // Called from the thread when there is something to take.
};

class LocalWork {
 public:
  explicit LocalWork(LocalWorkParts parts) : parts_(std::move(parts)) {}

  // The node asks for training while it handles an event; it begins when the event is over.
  void want_training(const Vector& model, Random random) { wanted_ = {model, random}; }
  void forget_wanted() { wanted_.reset(); }
  bool training_wanted() const { return wanted_.has_value(); }
  void start_training();

  // `row` is given back with its score.
  void evaluate(const RuntimeRow& row, const Vector& model);

  // Started and not taken back yet.
  bool training() const { return trainings_ > 0; }
  bool evaluating() const { return evaluations_ > 0; }

  // What is done, in order. Without `trained_too` a training that is done stays, and what is behind
  // it.
  std::optional<WorkDone> take(bool trained_too);

 private:
  struct Wanted {
    Vector model{};
    Random random{0};
  };
  void post_done(WorkDone done);

  LocalWorkParts parts_;
  std::optional<Wanted> wanted_;
  int trainings_ = 0;
  int evaluations_ = 0;
  std::mutex mutex_;
  std::deque<WorkDone> done_;
  RuntimeWorker worker_;  // Last: its jobs refer to the members above.
};

}  // namespace tessera
