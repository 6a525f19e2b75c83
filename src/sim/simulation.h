// A run in virtual time. The simulation is the world of its nodes: it keeps the clock, hands their
// messages to a network, trains their models, lets them fail and counts their bytes. Everything is
// deterministic:
//
//   * Events of one instant are handled together, each node's in order (what arrived first, then
//     the rest), different nodes' in parallel. What the nodes do meanwhile is written down per node
//     and carried out afterwards in the order of their ids, so the number of threads changes
//     nothing.
//   * A training result is first needed when its time is up. By then every training under way is
//     computed with it as one cohort: training starts from a copy of the model, so it does not
//     matter when the numbers are crunched, and a GPU sees many nodes at once even where no two
//     start at the same instant.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/threads.h"
#include "node/node.h"
#include "node/traffic.h"
#include "node/trainer.h"
#include "sim/compute.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/network.h"

namespace tessera {

// What happened to one node's messages since the beginning.
struct Mail {
  Traffic offered{};                // Handed to the network; a duplicate it makes counts again.
  Traffic taken_back{};             // Of those, what was withdrawn before it had left.
  Traffic delivered{};              // Of those, what its receivers were given.
  std::uint64_t dropped_bytes = 0;  // Of those, what nobody was given: withdrawn, or lost.
  std::uint64_t dropped_messages = 0;
  // Of what reached this node:
  std::uint64_t heard = 0;
  std::uint64_t staleness = 0;  // Sum: trainings the sender had made since it sent.
  Duration delay{};             // Sum: from sending to arrival.
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
  std::uint32_t nodes = 0;
  std::function<std::unique_ptr<Node>(NodeId)> make_node{};
  Trainer* trainer = nullptr;
  std::unique_ptr<Network> network{};  // None: ideal.
  std::unique_ptr<Compute> compute{};  // None: a second per training.
  Faults faults{};
  unsigned threads = 1;  // For packing, encoding, merging; 0: one per core.
};

class Simulation {
 public:
  explicit Simulation(SimulationParts parts);
  ~Simulation();

  void start();                   // Hands every node its Started.
  Instant next() const;           // When step() will take us; kNever when nothing is left to do.
  bool step(Observer& observer);  // Handles the next instant's events; false when none are left.

  Instant now() const { return now_; }
  std::size_t node_count() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return *nodes_[id]; }
  bool is_up(NodeId id) const { return lives_[id].up; }
  const Network& network() const { return *network_; }
  const Mail& mail(NodeId id) const { return mail_[id]; }
  Traffic sent(NodeId id) const;  // What has left the node by now, half-sent messages included.
  bool finished() const { return nodes_finished_ == nodes_.size(); }
  Round rounds_done() const;           // By the slowest node.
  std::uint64_t model_digest() const;  // Of all models, in the order of ids.
  // Why nothing is left to do although nodes have not finished, in words for a person.
  std::string why_stuck() const;
  std::uint64_t crashes() const;

  // Bytes: offered = delivered + dropped + on their way, at every moment.
  struct Ledger {
    std::uint64_t offered = 0, delivered = 0, dropped = 0, on_their_way = 0;
  };
  Ledger ledger() const;

  void save(Bytes& out) const;
  Result<void> load(ByteReader& in);

 private:
  struct Landed {  // A message the network delivered and a fault held back.
    MessageId message = 0;
  };
  struct Crashed {};
  struct Snapshot {};  // The node's state is put aside, for the day it crashes.
  using What = std::variant<Started, Woke, Trained, Landed, Crashed, Snapshot>;
  struct Happening {
    NodeId node = 0;
    std::uint32_t life = 0;  // Which of the node's lives it belongs to.
    What what{};
  };
  struct alignas(64) Flight {  // In one line of the cache.
    NodeId from = 0, to = 0;
    Payload payload{};  // Empty: the slot is free.
    Instant sent_at{};
    std::uint64_t sender_age = 0;
  };
  struct Training {
    Vector model{};
    Random random{0};
    float loss = 0;
    bool computed = false;
  };
  // A node's lives are numbered: what was meant for an earlier one is forgotten.
  struct Life {
    std::uint32_t number = 0;
    bool up = true;
    Bytes snapshot{};
  };
  struct NodeEvent {
    NodeId node = 0;
    Event event{};
  };
  class Effects;

  void gather_arrivals(std::vector<NodeEvent>& batch);
  void gather_what_is_due(std::vector<NodeEvent>& batch);
  void handle_together(std::vector<NodeEvent>& batch);
  void tell(Observer& observer);
  void note_progress(NodeId id);
  void carry_out(NodeId node, Effects& effects);

  void offer(NodeId from, NodeId to, Payload payload);
  void land(MessageId id, std::vector<NodeEvent>& batch);
  void fetch_ahead();
  void drop(MessageId id, std::uint64_t bytes_sent);
  void withdraw_all(NodeId from);
  static std::uint64_t serial_of(MessageId id);
  MessageId board(Flight flight);
  MessageId copy_flight(MessageId id);
  Flight& flight(MessageId id);
  void release(MessageId id);

  void train_all_under_way();
  Trained take_training(NodeId node);

  void crash(NodeId node);
  void come_back(NodeId node);
  void schedule_crash(NodeId node);
  void take_snapshot(NodeId node);

  void save_flights(Bytes& out) const;
  Result<void> load_flights(ByteReader& in);
  Result<void> load_nodes(ByteReader& in);

  std::function<std::unique_ptr<Node>(NodeId)> make_node_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Trainer* trainer_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Compute> compute_;
  Faults faults_;
  Workers workers_;

  Instant now_{};
  EventQueue<Happening> queue_;
  // Messages on their way. An id is a serial number and a place in this vector, so that ids ascend
  // and finding a message costs nothing.
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::uint64_t serial_ = 0;

  std::vector<std::optional<Training>> trainings_;  // Under way, by node.
  std::vector<Life> lives_;
  std::vector<Mail> mail_;
  std::vector<std::uint64_t> ages_;  // The nodes', beside each other for whoever asks often.
  std::vector<Round> rounds_seen_, rounds_told_;  // By node: done, and told to observers.
  std::map<Round, std::uint32_t> nodes_at_;       // How many nodes have done so many rounds.
  std::vector<bool> finished_seen_;
  std::size_t nodes_finished_ = 0;

  // Kept from one instant to the next for their memory only.
  std::vector<NodeEvent> batch_;
  std::vector<std::uint64_t> order_;
  std::vector<Effects> effects_;
  std::vector<NodeId> touched_;
  std::vector<std::size_t> begins_;
  std::vector<Outcome> outcomes_;
};

}  // namespace tessera
