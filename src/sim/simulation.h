// A run in virtual time. The simulation is the world of its nodes: it keeps the clock, carries
// their messages, trains their models and counts their bytes. Everything is deterministic:
//
//   * Events of one instant are handled together, each node's in order, different nodes' in
//     parallel. What the nodes do meanwhile is written down per node and carried out afterwards in
//     the order of their ids, so the number of threads changes nothing.
//   * A training result is first needed when its time is up. By then every training under way is
//     computed with it as one cohort: a node's model does not change while it trains, so it does
//     not matter when the numbers are crunched, and a GPU sees many nodes at once even where no two
//     start at the same instant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "node/node.h"
#include "node/trainer.h"
#include "sim/event_queue.h"

namespace tessera {

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t metadata_bytes() const { return bytes - value_bytes; }
};

// Nodes that completed a round just now, for whoever measures. Their models are as the round left
// them.
struct RoundDone {
  NodeId node = 0;
  Round round = 0;  // Rounds completed, this one included.
};

class Simulation;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) = 0;
};

struct SimulationParts {
  std::vector<std::unique_ptr<Node>> nodes{};
  Trainer* trainer = nullptr;
  unsigned threads = 1;  // For packing, encoding, merging; 0: one per core.
  Duration training_time = std::chrono::seconds(1);  // Per training request, in virtual time.
};

class Simulation {
 public:
  explicit Simulation(SimulationParts parts);
  ~Simulation();

  void start();                   // Hands every node its Started.
  bool step(Observer& observer);  // Handles the next instant's events; false when none are left.

  Instant now() const { return now_; }
  std::size_t node_count() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return *nodes_[id]; }
  const Traffic& sent(NodeId id) const { return sent_[id]; }
  bool finished() const;
  Round rounds_done() const;           // By the slowest node.
  std::uint64_t model_digest() const;  // Of all models, in the order of ids.

  void save(Bytes& out) const;
  Result<void> load(ByteReader& in);

 private:
  struct Happening {
    NodeId node = 0;
    Event event{};
  };
  struct Training {
    Vector model{};
    Random random{0};
    float loss = 0;
    bool computed = false;
  };
  class Effects;

  void train_all_under_way();
  Trained take_training(NodeId node);
  void handle_together(std::vector<Happening>& batch);
  void carry_out(NodeId node, Effects& effects);

  std::vector<std::unique_ptr<Node>> nodes_;
  Trainer* trainer_;
  Workers workers_;
  Duration training_time_;
  Instant now_{};
  EventQueue<Happening> queue_;
  std::vector<std::optional<Training>> trainings_;  // Under way, by node.
  std::vector<Traffic> sent_;
  std::vector<Round> rounds_seen_;  // What observers were told of, by node.
};

}  // namespace tessera
