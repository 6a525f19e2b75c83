// The trainings under way. A result is first needed when its time is up; by then every training
// under way is computed with it as one cohort (a batch of jobs). A training starts from a copy of
// the model, so when it is computed does not matter, and a GPU gets many nodes at once even where
// no two start at the same instant.
#pragma once

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
  bool computed = false;
};

class Trainings {
 public:
  // `trainer` must outlive it.
  Trainings(Trainer& trainer, std::size_t nodes) : trainer_(trainer), under_way_(nodes) {}

  void begin(NodeId node, Training training);
  Trained take(NodeId node);
  void cancel(NodeId node) { under_way_[node].reset(); }

  // The model it began with or ended with; none where the node does not train.
  const Vector* model(NodeId node) const {
    return under_way_[node] ? &under_way_[node]->model : nullptr;
  }

  void fields(Archive& archive);

 private:
  void compute_all();

  Trainer& trainer_;
  std::vector<std::optional<Training>> under_way_;  // By node.
};

}  // namespace tessera
