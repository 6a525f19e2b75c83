#include "sim/simulation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/archive.h"
#include "base/check.h"
#include "base/hash.h"

namespace tessera {

// What one node does while it handles its events: written down now, carried out when all nodes are
// done.
class Simulation::Effects final : public Env {
 public:
  explicit Effects(Instant now) : now_(now) {}

  Instant now() const override { return now_; }
  void send(NodeId to, Payload payload) override { sends.emplace_back(to, std::move(payload)); }
  void drop_unsent() override { sends.clear(); }
  void wake_after(Duration delay) override { wakes.push_back(delay); }
  void train(const Vector& model, Random random) override {
    training = Training{.model = model, .random = random};
  }

  std::vector<std::pair<NodeId, Payload>> sends;
  std::vector<Duration> wakes;
  std::optional<Training> training;

 private:
  Instant now_;
};

Simulation::Simulation(SimulationParts parts)
    : nodes_(std::move(parts.nodes)),
      trainer_(parts.trainer),
      workers_(parts.threads),
      training_time_(parts.training_time),
      trainings_(nodes_.size()),
      sent_(nodes_.size()),
      rounds_seen_(nodes_.size(), 0) {
  CHECK(trainer_ != nullptr);
  for (std::size_t i = 0; i < nodes_.size(); ++i) CHECK(nodes_[i]->id() == i);
}

Simulation::~Simulation() = default;

void Simulation::start() {
  for (const auto& node : nodes_) queue_.push(now_, {node->id(), Started{}});
}

bool Simulation::step(Observer& observer) {
  if (queue_.empty()) return false;
  now_ = queue_.next_at();
  std::vector<Happening> batch;
  while (!queue_.empty() && queue_.next_at() == now_) batch.push_back(queue_.pop());
  handle_together(batch);

  std::vector<RoundDone> done;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Round round = nodes_[id]->rounds_done();
    if (round == rounds_seen_[id]) continue;
    rounds_seen_[id] = round;
    done.push_back({id, round});
  }
  if (!done.empty()) observer.on_rounds_done(*this, done);
  return true;
}

void Simulation::handle_together(std::vector<Happening>& batch) {
  for (Happening& happening : batch)
    if (auto* trained = std::get_if<Trained>(&happening.event))
      *trained = take_training(happening.node);

  // Events by node, each node's in the order they came.
  std::vector<std::size_t> order(batch.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return batch[a].node < batch[b].node; });
  std::vector<std::size_t> begins;  // Where each node's events begin in `order`.
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || batch[order[i]].node != batch[order[i - 1]].node) begins.push_back(i);

  std::vector<Effects> effects(begins.size(), Effects(now_));
  begins.push_back(order.size());
  workers_.for_each(effects.size(), [&](std::size_t group) {
    for (std::size_t i = begins[group]; i < begins[group + 1]; ++i) {
      Happening& happening = batch[order[i]];
      nodes_[happening.node]->handle(std::move(happening.event), effects[group]);
    }
  });
  for (std::size_t group = 0; group < effects.size(); ++group)
    carry_out(batch[order[begins[group]]].node, effects[group]);
}

Trained Simulation::take_training(NodeId node) {
  std::optional<Training>& training = trainings_[node];
  CHECK(training.has_value());
  if (!training->computed) train_all_under_way();
  Trained trained{std::move(training->model), training->loss};
  training.reset();
  return trained;
}

void Simulation::carry_out(NodeId node, Effects& effects) {
  for (auto& [to, payload] : effects.sends) {
    CHECK(to < nodes_.size());
    Traffic& sent = sent_[node];
    ++sent.messages;
    sent.bytes += payload.bytes->size();
    sent.value_bytes += payload.value_bytes;
    queue_.push(now_, {to, Arrived{node, std::move(payload)}});
  }
  for (const Duration delay : effects.wakes) queue_.push(now_ + delay, {node, Woke{}});
  if (effects.training) {
    CHECK(!trainings_[node].has_value());
    trainings_[node] = std::move(effects.training);
    queue_.push(now_ + training_time_, {node, Trained{}});
  }
}

void Simulation::train_all_under_way() {
  std::vector<TrainJob> cohort;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::optional<Training>& training = trainings_[id];
    if (training && !training->computed)
      cohort.push_back({.node = id, .model = training->model, .random = training->random});
  }
  trainer_->train(cohort);
  for (const TrainJob& job : cohort) {
    trainings_[job.node]->loss = job.loss;
    trainings_[job.node]->computed = true;
  }
}

bool Simulation::finished() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->finished(); });
}

Round Simulation::rounds_done() const {
  Round fewest = nodes_.empty() ? 0 : nodes_.front()->rounds_done();
  for (const auto& node : nodes_) fewest = std::min(fewest, node->rounds_done());
  return fewest;
}

std::uint64_t Simulation::model_digest() const {
  std::uint64_t digest = 0;
  for (const auto& node : nodes_)
    digest = hash_bytes(bytes_of(std::span<const float>(node->model())), digest);
  return digest;
}

}  // namespace tessera
