// A run in virtual time. The simulation is the world of its nodes: it keeps the clock, hands their
// messages to a network, trains their models and lets them fail. It is made of parts, each with its
// own state, and puts them in order, one instant after the other:
//
//   network -> flights    what arrives now, and what faults do to it;
//   agenda  -> batch      what else is due: starts, wakes, ends of trainings, crashes;
//   shard                 the nodes handle the batch, each its own events in order;
//   liars                 what hostile nodes are about to send is changed;
//   blocks                ranks tell each other what their nodes did, where there are several;
//   effects -> flights, agenda, network    what they did is carried out in the order of their ids;
//   progress -> observer  who completed a round is told.
//
// Everything is deterministic: different nodes handle their events in parallel, and since what they
// do meanwhile is only written down, the number of threads changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/word_counts.h"
#include "node/node.h"
#include "node/traffic.h"
#include "node/trainer.h"
#include "sim/compute.h"
#include "sim/faults.h"
#include "sim/flights.h"
#include "sim/happening.h"
#include "sim/liars.h"
#include "sim/lives.h"
#include "sim/network.h"
#include "sim/node_progress.h"
#include "sim/shard.h"

namespace tessera {

// A node that completed a round just now. Its model is as the round left it.
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
  ShardParts shard{};                        // Of all nodes.
  std::unique_ptr<Network> network{};        // None: ideal.
  std::shared_ptr<const Compute> compute{};  // None: a second per training.
  Faults faults{};
  std::shared_ptr<const Graph> graph{};  // Of neighbours that stay; none: nodes have no such.
};

class Simulation {
 public:
  explicit Simulation(SimulationParts parts);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void start();          // Hands every node its Started.
  Instant next() const;  // When step() will take us; kNever when nothing is left to do.
  // Handles the next instant's events; false when none are left. Throws std::runtime_error when an
  // honest node's model has diverged.
  bool step() { return step_for(nullptr); }
  bool step(Observer& observer) { return step_for(&observer); }

  Instant now() const { return now_; }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(shard_.size()); }
  const Node& node(NodeId id) const { return shard_.node(id); }  // One that is held here.
  // Empty where another rank holds the node.
  std::span<const float> model(NodeId id) const { return shard_.model(id); }
  // Whoever holds it; asked by all ranks together, as are refusals(), model_digest(), why_stuck().
  Vector model_of_any(NodeId id) const { return shard_.model_of_any(id); }
  Blocks& blocks() { return shard_.blocks(); }
  const Blocks& blocks() const { return shard_.blocks(); }
  bool is_up(NodeId id) const { return lives_.up(id); }
  const Network& network() const { return *network_; }
  const MessageCounts& counts(NodeId id) const { return flights_.counts(id); }
  Traffic sent(NodeId id) const;  // What has left the node by now, half-sent messages included.
  Ledger ledger() const { return flights_.ledger(); }
  bool finished() const { return progress_.all_finished(); }
  const NodeProgress& progress() const { return progress_; }
  Round rounds_done() const { return progress_.slowest(); }
  WordCounts refusals() const { return shard_.refusals(); }  // Of all nodes.
  std::uint64_t model_digest() const { return shard_.model_digest(); }
  std::uint64_t crashes() const { return lives_.crashes(); }
  // Why nothing is left to do although nodes have not finished, in words for a person.
  std::string why_stuck() const;
  // What does not fit together between two instants, in words; empty when all does.
  std::string contradiction() const;

  // Wakes that nodes asked for at one moment come at a later one: what ended then ends later.
  void postpone_wakes(Instant from, Instant to);

  // Between two instants. What is loaded was made of the same parts and has not been started.
  void fields(Archive& archive);

 private:
  bool step_for(Observer* observer);
  void gather_arrivals();
  void gather_what_is_due();
  void carry_out(NodeId node, Effects& effects);
  void tell(Observer* observer);
  void believe(Archive& archive);

  void offer(NodeId from, NodeId to, Payload payload);
  void arrive(const Receipt& receipt);
  void land(MessageId id);
  void withdraw_all(NodeId from);
  void prefetch_arrivals() const;

  void schedule(NodeId node, Instant at, Happening::Kind kind);
  void schedule_life(NodeId node);
  void come_back(NodeId node);
  void crash(NodeId node);
  void take_snapshot(NodeId node);

  std::unique_ptr<Network> network_;
  std::shared_ptr<const Compute> compute_;
  Faults faults_;

  Instant now_{};
  Agenda agenda_;
  Flights flights_;
  Lives lives_;
  Shard shard_;
  NodeProgress progress_;
  Liars liars_;

  std::vector<NodeEvent> batch_;   // Events of this instant.
  std::vector<Receipt> receipts_;  // Scratch.
};

}  // namespace tessera
