// Drives one node as a process of its own: the live counterpart of a Simulation. It hands the node
// one event at a time, in the order they happen, and carries out what the node does meanwhile:
// messages go to a Transport, training to a thread beside the loop, wake-ups to a heap of timers.
// The node cannot tell that it is not simulated.
//
// The parts, each with a page of its own: RunClock (time), Sending (messages out), Joining (whether
// we are late), Company (who else is there, to whom there are links, whether we are of this run),
// Membership (who may be), LocalWork (training and evaluation), RuntimeRecords (rows and
// checkpoints), Leaving (when to end), Effort (what was done by then), StatusBoard (what others may
// ask). This class orders them.
//
// A node that begins without a checkpoint asks its peers whether it is far behind; if so it takes
// over a model and begins with that. A node that has a checkpoint goes on from there; its last
// messages are told (sent) again, and its peers tell it theirs, so that a node that checkpoints
// every round comes back from a crash as if nothing had been. A node that has finished stays for a
// while, so that those who are not can still hear from it and come back from a crash.
//
// A model that is no longer made of finite numbers is neither told nor saved. The node goes back to
// its last checkpoint, once; when that happens again, the run ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attack/liar.h"
#include "live/company.h"
#include "live/effort.h"
#include "live/joining.h"
#include "live/leaving.h"
#include "live/link/transport.h"
#include "live/local_work.h"
#include "live/membership.h"
#include "live/peer_log.h"
#include "live/run_clock.h"
#include "live/run_end.h"
#include "live/runtime_observer.h"
#include "live/runtime_records.h"
#include "live/sending.h"
#include "live/status_board.h"
#include "node/divergence.h"
#include "node/node.h"
#include "node/trainer.h"

namespace tessera {

struct RuntimeParts {
  NodeId id = 0;
  std::uint64_t run = 0;  // The roster's.
  std::string name{};
  std::function<std::unique_ptr<Node>(Vector model)> make_node{};
  Trainer* trainer = nullptr;
  Evaluator* evaluator = nullptr;
  Transport* transport = nullptr;
  RuntimeObserver* observer = nullptr;
  // To whom links are kept (contacts.h). None: as the transport does by itself.
  Contacts::Meets meets{};
  Membership* membership = nullptr;  // None: the roster stays as it is.
  std::shared_ptr<Liar> liar{};      // Of a hostile node, for tests of the others.
};

struct RuntimeOptions {
  Round rounds = 0;        // For the status only; 0: no limit.
  Instant until = kNever;  // When it ends, likewise.
  // By rounds, or else by time; neither: only at the end.
  Round evaluate_every = 0;
  Duration evaluate_period{};
  bool evaluate_start = false;  // Before the first training.
  Duration checkpoint_every = std::chrono::seconds(10);
  Duration progress_every{};  // Between lines of progress in the log; zero: none.
  // A node without a checkpoint begins when all others are there (a barrier), or after this long:
  // then their clocks begin together, and none is missed for being slow to load its data.
  Duration gather{};
  // Before that it waits, as long as it takes, until the roster has so many members.
  std::size_t begin_with = 0;
  // Asked to stop, a node goes on to the end of its round, but no longer than this.
  Duration stop_within = std::chrono::seconds(5);
  // A node that has finished waits this long for its peers to finish too.
  Duration linger = std::chrono::seconds(30);
  // A peer whose queue is full is waited for; one that takes nothing for this long is not.
  Duration stalled = std::chrono::seconds(10);
  // How many of the last messages to a peer are told (sent) again when either has been started
  // anew. Two for protocols of rounds, where a neighbour is one round ahead at most, and more where
  // they merge (Plan::retold); asynchronous ones need none.
  std::size_t retold = 0;
  // Whom a node without a checkpoint asks for a model, and how many rounds behind them it must be
  // to take it. None where a node must see every message from the first.
  std::vector<NodeId> helpers{};
  Round far_behind = 2;
  // Training takes at least this long: to stand in for slower machines.
  Duration pace{};
  // When the run began, in seconds of the system's clock; 0: now, or as the checkpoint says.
  double began_at = 0;
  // What it may leave undone and still be called finished.
  Effort::Limits effort{};
};

class Runtime final : private Env {
 public:
  Runtime(RuntimeParts parts, const RuntimeOptions& options);

  // Continues from what on_checkpoint was given. Before run(). Where it is refused, this runtime is
  // of no further use.
  Result<void> restore(ByteSpan state);

  // Until the node has finished or was asked to stop. Throws Divergence when the model has diverged
  // for the second time, std::invalid_argument when the checkpoint turns out to be of an earlier
  // run or most others learn something else, std::runtime_error when the end cannot be saved, and
  // whatever the trainer throws.
  RunEnd run();
  std::string shortfall() const { return effort_.shortfall(done()); }
  // From any thread, and from a signal's handler.
  void stop() { leaving_.ask(); }

  NodeStatus status() const;  // From any thread.
  const Node& node() const { return *node_; }

  // What a checkpoint holds.
  void fields(Archive& archive);

 private:
  // What the node does while it handles an event.
  Instant now() const override { return clock_.event_at(); }
  void send(NodeId to, Payload payload) override {
    sending_.send(to, parts_.liar ? parts_.liar->retell(payload) : payload);
  }
  void drop_unsent() override { sending_.drop_unsent(); }
  void wake_after(Duration delay) override { clock_.wake_after(delay); }
  void train(const Vector& model, Random random) override { work_.want_training(model, random); }

  bool await_members();
  void gather();
  void refuse_to_be_alone();
  void post_beginning(const char* state, std::string waiting_for = {});
  void join();
  void meet_again();
  void begin();
  void turn();
  void go_back(const Divergence& why);
  std::string suspicion() const;
  void give(Event event);
  void note_progress();
  void evaluate(Round label, Instant at);
  void take_work_done();
  void on_done(TrainingDone done);
  void on_done(const EvaluationDone& done);
  void leave_if_abandoned(const std::exception_ptr& failure);
  void receive();
  void hear(Incoming incoming);
  void tick();
  bool checkpoint();
  void save_the_end();

  // Other processes.
  void watch_peers();
  void greet(const PeerState& peer);
  bool all_are_there();
  void on_control(NodeId from, const Control& control);
  void on_request(NodeId from, const ModelRequest& request);
  void on_offer(NodeId from, const ModelOffer& offer);
  void on_begun(NodeId from, const Begun& begun);
  void begin_with(const Joining::Choice& choice);
  void say_finished();
  std::string name_of(NodeId peer) const;

  void refuse_anothers(Archive& archive) const;
  Effort::Done done() const { return {node_->rounds_done(), node_->age()}; }
  const Traffic& counted();
  bool should_leave() const;
  std::vector<std::string> alarms() const;
  void update_status();

  RuntimeParts parts_;
  const RuntimeOptions options_;
  std::unique_ptr<Node> node_;
  bool restored_ = false;   // From a checkpoint.
  bool went_back_ = false;  // After it had diverged.
  RunClock clock_;
  Sending sending_;
  Joining joining_;
  Company company_;
  RuntimeRecords records_;
  Leaving leaving_;
  Effort effort_;
  StatusBoard status_;
  PeerLog peer_log_;
  LocalWork work_;  // Last: its jobs refer to the members above.
};

}  // namespace tessera
