// Drives one node as a process of its own: the live counterpart of a Simulation. It hands the node
// one event at a time, in the order they happen, and carries out what the node does meanwhile:
// messages go to a Transport, training to a thread beside the loop, wake-ups to a heap of timers.
// The node cannot tell that it is not simulated.
//
// A node that begins without a checkpoint asks its peers whether it is far behind; if so it takes
// over a model and begins with that. A node that has a checkpoint goes on from there; its last
// messages are told again, and its peers tell it theirs, so that a node that checkpoints every
// round comes back from a crash as if nothing had been. A node that has finished stays for a while,
// so that those who are not can still hear from it and come back from a crash.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "live/link/transport.h"
#include "live/runtime_control.h"
#include "live/runtime_worker.h"
#include "live/status.h"
#include "node/node.h"
#include "node/trainer.h"

namespace tessera {

// What a node measured of itself.
struct RuntimeRow {
  Round round = 0;
  double seconds = 0;  // Since the run began, when the round was complete.
  Score score{};
  float train_loss = 0;
  SentCounts sent{};
};

// Whoever keeps records of a live node. Called from the loop's thread only.
class RuntimeObserver {
 public:
  virtual ~RuntimeObserver() = default;
  virtual void on_event(Instant, const Event&) {}                        // Before it is handled.
  virtual void on_adopted(Instant, std::span<const float> /*model*/) {}  // Begins anew with it.
  virtual void on_round(Instant, const Node&) {}  // It has completed a round.
  virtual void on_tick() {}                       // A few times a second.
  virtual void on_row(const RuntimeRow& row) = 0;
  virtual void on_checkpoint(Round round, const Bytes& state) = 0;
  virtual void say(std::string_view line) = 0;  // For the log that people read.
};

struct RuntimeParts {
  NodeId id = 0;
  std::string name{};
  std::function<std::unique_ptr<Node>(Vector model)> make_node{};
  Trainer* trainer = nullptr;
  Evaluator* evaluator = nullptr;
  Transport* transport = nullptr;
  RuntimeObserver* observer = nullptr;
};

struct RuntimeOptions {
  Round rounds = 0;  // For the status only.
  // By rounds, or else by time; neither: only at the end.
  Round evaluate_every = 0;
  Duration evaluate_period{};
  Duration checkpoint_every = std::chrono::seconds(10);
  // A node without a checkpoint begins when it can talk to all others, or after this long: then
  // their clocks begin together, and nobody is missed for being slow to load its data.
  Duration gather{};
  // Asked to stop, a node goes on to the end of its round, but no longer than this.
  Duration stop_within = std::chrono::seconds(5);
  // A node that has finished waits this long for its peers to finish too.
  Duration linger = std::chrono::seconds(30);
  // A peer whose queue is full is waited for; one that takes nothing for this long is not.
  Duration stalled = std::chrono::seconds(10);
  // How many of the last messages to a peer are told again when either has been started anew. Two
  // for protocols of rounds, where a neighbour is one round ahead at most; asynchronous ones need
  // none.
  std::size_t retold = 0;
  // Whom a node without a checkpoint asks for a model, and how many rounds behind them it must be
  // to take it. Nobody where a node must see every message from the first.
  std::vector<NodeId> helpers{};
  Round far_behind = 2;
  // Training takes at least this long: to stand in for slower machines.
  Duration pace{};
  // When the run began, in seconds of the system's clock; 0: now, or as the checkpoint says.
  double began_at = 0;
};

enum class RunEnd { kFinished, kStopped };

class Runtime final : private Env {
 public:
  Runtime(RuntimeParts parts, RuntimeOptions options);
  ~Runtime() override;

  // Continues from what on_checkpoint was given. Before run().
  Result<void> restore(ByteSpan state);

  // Until the node has finished or was asked to stop. Throws std::runtime_error when the model has
  // diverged, and whatever the trainer throws.
  RunEnd run();
  // From any thread, and from a signal's handler.
  void stop() { stop_asked_.store(true); }

  NodeStatus status() const;  // From any thread.
  const Node& node() const { return *node_; }

 private:
  struct TrainingDone {
    Trained trained{};
    std::exception_ptr failure{};
  };
  struct EvaluationDone {
    RuntimeRow row{};
    std::exception_ptr failure{};
  };
  using WorkDone = std::variant<TrainingDone, EvaluationDone>;
  struct TrainingWanted {
    Vector model{};
    Random random{0};
  };

  // What the node does while it handles an event.
  Instant now() const override { return event_at_; }
  void send(NodeId to, Payload payload) override;
  void drop_unsent() override;
  void wake_after(Duration delay) override { timers_.push(event_at_ + delay); }
  void train(const Vector& model, Random random) override { wanted_ = {model, random}; }

  Instant clock() const;
  void gather();
  void begin();
  void turn();
  void give(Event event);
  void after_event();
  void note_progress();
  void start_training();
  void evaluate(Round label, Instant at);
  void evaluate_in_time();
  void post_done(WorkDone done);
  void take_work_done();
  void on_done(TrainingDone done);
  void on_done(EvaluationDone done);
  void wake_node();
  void retry_held();
  void receive();
  void hear(Incoming incoming);
  void tick();
  void watch_peers();
  void tell_again(NodeId to);
  void tell_of_notes();
  bool takes_messages(NodeId to);
  const SentCounts& count_left();
  // A round's row counts what the round has to send, a moment's what has left by then.
  const SentCounts& counted() {
    return options_.evaluate_period > Duration::zero() ? count_left() : sent_;
  }
  bool should_leave() const;
  void checkpoint();
  void save_last_told(Bytes& out) const;
  Result<void> load_last_told(ByteReader& in);

  void join();
  void on_control(NodeId from, const Control& control);
  void answer(NodeId from, const ModelRequest& request);
  void adopt(NodeId from, const ModelOffer& offer);
  bool peers_are_done() const;
  void update_status();

  RuntimeParts parts_;
  RuntimeOptions options_;
  std::unique_ptr<Node> node_;
  double began_at_ = 0;    // Seconds of the system's clock.
  Duration offset_{};      // The run's age when the transport was made.
  bool restored_ = false;  // From a checkpoint.

  Instant event_at_{};  // Of the event being handled: time stands still meanwhile.
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> timers_;
  std::optional<TrainingWanted> wanted_;
  int trainings_posted_ = 0, evaluations_posted_ = 0;  // And not taken back yet.
  // Turned away by a full queue. While there are any, the node is not told that it has trained.
  std::deque<std::pair<NodeId, std::shared_ptr<const Bytes>>> held_;
  std::map<NodeId, std::uint64_t> members_;  // Whom the transport knows, and how often it met them.
  std::map<NodeId, std::deque<std::shared_ptr<const Bytes>>> last_told_;
  SentCounts sent_{};                     // Whatever became of it,
  SentCounts left_{};                     // and what has gone out,
  std::map<NodeId, SentCounts> left_to_;  // as the transport counts it since this process began.
  struct Stall {
    Instant since{};                    // It has taken no more
    std::uint64_t confirmed_bytes = 0;  // than these.
    bool said = false;
  };
  std::map<NodeId, Stall> stalls_;  // Of peers whose queues were full.
  std::deque<RuntimeRow> owed_;     // Evaluations posted, without their scores.
  Node::Counts noted_;              // What the log knows.
  std::int64_t periods_ = 0;        // Evaluations by time so far.
  Instant ticked_at_{};
  Round seen_ = 0;  // Rounds done, as observers know it.
  std::uint64_t refused_control_ = 0;
  std::uint64_t checkpoints_ = 0, adoptions_ = 0;
  Instant saved_at_{};

  std::atomic<bool> stop_asked_{false};
  std::optional<Instant> stopping_since_, finished_since_;
  Round stopping_round_ = 0;
  std::set<NodeId> finished_peers_;

  std::set<NodeId> asked_;          // Who is to answer whether we are far behind.
  std::deque<Incoming> too_early_;  // What came before the node was started.

  std::mutex done_mutex_;
  std::deque<WorkDone> done_;
  mutable std::mutex status_mutex_;
  NodeStatus status_;  // What the loop knows; the transport is asked by whoever asks us.
  Instant status_at_{};

  RuntimeWorker worker_;  // Last: its jobs refer to the members above.
};

}  // namespace tessera
