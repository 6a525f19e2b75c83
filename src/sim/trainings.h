// The trainings under way. A result is first needed when its time is up; then every training under
// way begins to be computed with it as one cohort (a batch of jobs), and whoever takes a result
// waits for that one alone. A training starts from a copy of the model, so when it is computed does
// not matter, and a GPU gets many nodes at once even where no two start at the same instant. Where
// many start at one instant, a trainer that likes to begin early gets each as soon as its node is
// ready.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/archive.h"
#include "node/env.h"
#include "node/trainer.h"

namespace tessera {

struct Training {
  Vector model{};  // Empty where another process has it and trains it.
  Random random{0};
  float loss = 0;
  bool computed = false;             // Or about to be: it was part of a cohort.
  std::optional<std::size_t> job{};  // Its place in the cohort, until it is awaited.
};

class Trainings {
 public:
  // `trainer` must outlive it.
  Trainings(Trainer& trainer, std::size_t nodes) : trainer_(trainer), under_way_(nodes) {}

  void begin(NodeId node, Training training);
  // Between open(), if it says so, and close(), join() hands trainings over that are about to
  // begin, of at most so many nodes, from any thread.
  bool open(std::size_t nodes);
  void join(NodeId node, Training& training);
  void close();
  // Its time is up: it begins to be computed if it has not.
  void end(NodeId node);
  // What became of it, after its end. Threads may take different nodes' at once.
  Trained take(NodeId node);
  void cancel(NodeId node);

  // The model it began with or ended with; none where the node does not train.
  const Vector* model(NodeId node) const {
    return under_way_[node] ? &under_way_[node]->model : nullptr;
  }

  void fields(Archive& archive);

 private:
  void compute_all();
  void await(Training& training);

  Trainer& trainer_;
  std::vector<TrainJob> cohort_;            // Of the last computing.
  std::atomic<std::size_t> joined_ = 0;     // Of a cohort that is open.
  std::atomic<std::size_t> in_flight_ = 0;  // Jobs of the cohort that are not awaited yet.
  // Not any more once few of those who might have joined did: a cohort of few is soon begun, and
  // keeps the many that come after it waiting.
  bool early_pays_ = true;
  std::vector<std::optional<Training>> under_way_;  // By node.
};

}  // namespace tessera
