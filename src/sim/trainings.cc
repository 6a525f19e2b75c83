#include "sim/trainings.h"

#include <utility>

#include "base/check.h"

namespace tessera {

void Trainings::begin(NodeId node, Training training) {
  CHECK(!under_way_[node].has_value());
  under_way_[node] = std::move(training);
}

bool Trainings::open(std::size_t nodes) {
  // One cohort at a time.
  if (!early_pays_ || in_flight_ > 0 || !trainer_.takes_early(nodes)) return false;
  cohort_.assign(nodes, {});
  joined_ = 0;
  trainer_.open(cohort_);
  return true;
}

void Trainings::join(NodeId node, Training& training) {
  const std::size_t job = joined_++;
  cohort_[job] = {.node = node, .model = training.model, .random = training.random};
  trainer_.join(job);
  training.computed = true;
  training.job = job;
  ++in_flight_;
}

void Trainings::close() {
  trainer_.close();
  early_pays_ = joined_ == 0 || 2 * joined_ >= cohort_.size();
}

void Trainings::end(NodeId node) {
  CHECK(under_way_[node].has_value());
  if (!under_way_[node]->computed) compute_all();
}

Trained Trainings::take(NodeId node) {
  std::optional<Training>& training = under_way_[node];
  CHECK(training.has_value());
  CHECK(training->computed);
  await(*training);
  Trained trained{std::move(training->model), training->loss};
  training.reset();
  return trained;
}

// The trainer may be writing to its model.
void Trainings::cancel(NodeId node) {
  if (under_way_[node]) await(*under_way_[node]);
  under_way_[node].reset();
}

void Trainings::await(Training& training) {
  if (!training.job) return;
  trainer_.await(*training.job);
  training.loss = cohort_[*training.job].loss;
  training.job.reset();
  --in_flight_;
}

void Trainings::compute_all() {
  for (std::optional<Training>& training : under_way_)
    if (training) await(*training);
  cohort_.clear();
  for (NodeId id = 0; id < under_way_.size(); ++id)
    if (std::optional<Training>& training = under_way_[id];
        training && !training->computed && !training->model.empty())
      cohort_.push_back({.node = id, .model = training->model, .random = training->random});
  if (!cohort_.empty()) trainer_.begin(cohort_);
  for (std::optional<Training>& training : under_way_)
    if (training) training->computed = true;
  for (std::size_t job = 0; job < cohort_.size(); ++job) under_way_[cohort_[job].node]->job = job;
  in_flight_ = cohort_.size();
}

void Trainings::fields(Archive& archive) {
  for (std::optional<Training>& training : under_way_)
    if (training) await(*training);
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
