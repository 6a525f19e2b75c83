#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace tessera {
namespace {

template <typename... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

}  // namespace

// What one node does while it handles its events: written down now, carried out when all nodes are
// done.
class Simulation::Effects final : public Env {
 public:
  Instant now() const override { return now_; }
  void send(NodeId to, Payload payload) override { sends.emplace_back(to, std::move(payload)); }
  void drop_unsent() override {
    sends.clear();
    forget_unsent = true;
  }
  void wake_after(Duration delay) override { wakes.push_back(delay); }
  void train(const Vector& model, Random random) override {
    training = Training{.model = model, .random = random};
  }

  void begin(Instant now) {
    now_ = now;
    sends.clear();
    wakes.clear();
    training.reset();
    forget_unsent = false;
  }

  std::vector<std::pair<NodeId, Payload>> sends;
  std::vector<Duration> wakes;
  std::optional<Training> training;
  bool forget_unsent = false;

 private:
  Instant now_{};
};

Simulation::Simulation(SimulationParts parts)
    : make_node_(std::move(parts.make_node)),
      trainer_(parts.trainer),
      network_(std::move(parts.network)),
      compute_(std::move(parts.compute)),
      faults_(std::move(parts.faults)),
      workers_(parts.threads),
      trainings_(parts.nodes),
      lives_(parts.nodes),
      mail_(parts.nodes),
      ages_(parts.nodes, 0),
      rounds_seen_(parts.nodes, 0),
      rounds_told_(parts.nodes, 0),
      finished_seen_(parts.nodes, false) {
  CHECK(trainer_ != nullptr);
  if (!network_) network_ = make_network("ideal", {.nodes = parts.nodes});
  if (!compute_) compute_ = make_compute("constant:round=1s", {.nodes = parts.nodes});
  for (NodeId id = 0; id < parts.nodes; ++id) {
    nodes_.push_back(make_node_(id));
    CHECK(nodes_.back()->id() == id);
  }
  if (parts.nodes > 0) nodes_at_[0] = parts.nodes;
}

Simulation::~Simulation() = default;

void Simulation::start() {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    queue_.push(now_, {id, 0, Started{}});
    schedule_crash(id);
  }
}

Instant Simulation::next() const {
  if (finished()) return kNever;
  return std::min(network_->next(), queue_.empty() ? kNever : queue_.next_at());
}

bool Simulation::step(Observer& observer) {
  const Instant next_at = next();
  if (next_at == kNever) return false;
  now_ = next_at;
  batch_.clear();
  gather_arrivals(batch_);
  gather_what_is_due(batch_);
  handle_together(batch_);
  tell(observer);
  return true;
}

void Simulation::gather_arrivals(std::vector<NodeEvent>& batch) {
  if (network_->next() != now_) return;
  outcomes_.clear();
  network_->advance(now_, outcomes_);
  fetch_ahead();
  for (const Outcome& outcome : outcomes_) {
    if (!outcome.delivered) {
      drop(outcome.id, outcome.bytes_sent);
      continue;
    }
    const Flight& arriving = flight(outcome.id);
    const Faults::Fate fate =
        faults_.any() ? faults_.of_message(serial_of(outcome.id), arriving.from, arriving.to, now_)
                      : Faults::Fate{};
    if (fate.lost) {
      drop(outcome.id, outcome.bytes_sent);
      continue;
    }
    if (fate.doubled) {
      const MessageId twin = copy_flight(outcome.id);
      queue_.push(now_ + fate.held_back, {flight(twin).to, 0, Landed{twin}});
    }
    if (fate.held_back > Duration::zero())
      queue_.push(now_ + fate.held_back, {flight(outcome.id).to, 0, Landed{outcome.id}});
    else
      land(outcome.id, batch);
  }
}

void Simulation::gather_what_is_due(std::vector<NodeEvent>& batch) {
  while (!queue_.empty() && queue_.next_at() == now_) {
    Happening due = queue_.pop();
    const NodeId node = due.node;
    // A message finds whoever lives there now; all else belongs to the life that asked for it.
    if (const auto* landed = std::get_if<Landed>(&due.what)) {
      land(landed->message, batch);
      continue;
    }
    if (due.life != lives_[node].number) continue;
    std::visit(Match{[&](Started) {
                       if (!lives_[node].up) come_back(node);
                       batch.push_back({node, Started{}});
                     },
                     [&](Woke) {
                       batch.push_back({node, Woke{}});
                     },
                     [&](Trained&) {
                       batch.push_back({node, take_training(node)});
                     },
                     [&](Landed) {}, [&](Crashed) { crash(node); },
                     [&](Snapshot) { take_snapshot(node); }},
               due.what);
  }
}

void Simulation::handle_together(std::vector<NodeEvent>& batch) {
  // Events by node, each node's in the order they came.
  order_.clear();
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (lives_[batch[i].node].up) order_.push_back(std::uint64_t{batch[i].node} << 32 | i);
  std::sort(order_.begin(), order_.end());
  const auto node_at = [&](std::size_t i) { return static_cast<NodeId>(order_[i] >> 32); };
  touched_.clear();
  begins_.clear();  // Where each node's events begin in `order_`.
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i > 0 && node_at(i) == node_at(i - 1)) continue;
    begins_.push_back(i);
    touched_.push_back(node_at(i));
  }
  begins_.push_back(order_.size());
  while (effects_.size() < touched_.size()) effects_.emplace_back();

  const auto handle_one_nodes = [&](std::size_t group) {
    effects_[group].begin(now_);
    for (std::size_t i = begins_[group]; i < begins_[group + 1]; ++i)
      nodes_[touched_[group]]->handle(std::move(batch[order_[i] & 0xffffffffu].event),
                                      effects_[group]);
  };
  if (touched_.size() == 1 || workers_.threads() == 1)
    for (std::size_t group = 0; group < touched_.size(); ++group) handle_one_nodes(group);
  else
    workers_.for_each(touched_.size(), handle_one_nodes);
  for (std::size_t group = 0; group < touched_.size(); ++group)
    carry_out(touched_[group], effects_[group]);
}

void Simulation::carry_out(NodeId node, Effects& effects) {
  if (effects.forget_unsent) withdraw_all(node);
  for (auto& [to, payload] : effects.sends) {
    CHECK(to < nodes_.size());
    offer(node, to, std::move(payload));
  }
  const std::uint32_t life = lives_[node].number;
  for (const Duration delay : effects.wakes) queue_.push(now_ + delay, {node, life, Woke{}});
  if (effects.training) {
    CHECK(!trainings_[node].has_value());
    trainings_[node] = std::move(effects.training);
    const Duration takes = compute_->training_time(node, nodes_[node]->age(), now_);
    // A machine that is switched off for good never comes to an end with it.
    if (takes < kNever - now_) queue_.push(now_ + takes, {node, life, Trained{}});
  }
}

void Simulation::tell(Observer& observer) {
  std::vector<RoundDone> done;
  for (const NodeId id : touched_) {
    note_progress(id);
    const Round round = rounds_seen_[id];
    if (round <= rounds_told_[id]) continue;
    rounds_told_[id] = round;
    done.push_back({id, round});
  }
  if (!done.empty()) observer.on_rounds_done(*this, done);
}

void Simulation::note_progress(NodeId id) {
  ages_[id] = nodes_[id]->age();
  if (const Round round = nodes_[id]->rounds_done(); round != rounds_seen_[id]) {
    if (--nodes_at_[rounds_seen_[id]] == 0) nodes_at_.erase(rounds_seen_[id]);
    ++nodes_at_[round];
    rounds_seen_[id] = round;
  }
  if (nodes_[id]->finished() == finished_seen_[id]) return;
  finished_seen_[id] = nodes_[id]->finished();
  nodes_finished_ += finished_seen_[id] ? 1 : -1;
}

Trained Simulation::take_training(NodeId node) {
  std::optional<Training>& training = trainings_[node];
  CHECK(training.has_value());
  if (!training->computed) train_all_under_way();
  Trained trained{std::move(training->model), training->loss};
  training.reset();
  return trained;
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

Round Simulation::rounds_done() const {
  return nodes_at_.empty() ? 0 : nodes_at_.begin()->first;
}

std::uint64_t Simulation::model_digest() const {
  std::uint64_t digest = 0;
  for (const auto& node : nodes_)
    digest = hash_bytes(bytes_of(std::span<const float>(node->model())), digest);
  return digest;
}

std::string Simulation::why_stuck() const {
  constexpr std::size_t kNamed = 5;
  std::string why = fmt::format("after {:.3f} s and {} rounds no node can go on",
                                to_seconds(now_.time_since_epoch()), rounds_done());
  std::size_t stuck = 0;
  for (const auto& node : nodes_) {
    if (node->finished() || ++stuck > kNamed) continue;
    const std::string waiting = node->waiting_for();
    why += fmt::format("; node {} waits for {}", node->id(),
                       waiting.empty() ? "something that never comes" : waiting);
  }
  if (stuck > kNamed) why += fmt::format("; and {} more", stuck - kNamed);
  if (faults_.cut_for_ever(now_))
    why +=
        ". The network is cut in two and never mended: end the partition, or give the protocol a "
        "patience";
  else if (faults_.any())
    why += ". Messages were lost: a synchronous protocol needs a patience to go on without them";
  return why;
}

}  // namespace tessera
