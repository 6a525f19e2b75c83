#include "sim/trainings.h"

#include <utility>

#include "base/check.h"

namespace tessera {

void Trainings::begin(NodeId node, Training training) {
  CHECK(!under_way_[node].has_value());
  under_way_[node] = std::move(training);
}

Trained Trainings::take(NodeId node) {
  std::optional<Training>& training = under_way_[node];
  CHECK(training.has_value());
  if (!training->computed) compute_all();
  Trained trained{std::move(training->model), training->loss};
  training.reset();
  return trained;
}

void Trainings::compute_all() {
  std::vector<TrainJob> cohort;
  for (NodeId id = 0; id < under_way_.size(); ++id) {
    std::optional<Training>& training = under_way_[id];
    if (!training || training->computed) continue;
    training->computed = true;
    if (!training->model.empty())
      cohort.push_back({.node = id, .model = training->model, .random = training->random});
  }
  if (!cohort.empty()) trainer_.train(cohort);
  for (const TrainJob& job : cohort) under_way_[job.node]->loss = job.loss;
}

void Trainings::fields(Archive& archive) {
  for (NodeId id = 0; id < under_way_.size(); ++id) {
    bool there = under_way_[id].has_value();
    archive(there);
    if (archive.loading()) under_way_[id].reset();
    if (!there) continue;
    if (archive.loading()) under_way_[id].emplace();
    Training& training = *under_way_[id];
    archive(training.computed);
    archive.of_node(id, training.model, training.random, training.loss);
  }
}

}  // namespace tessera
