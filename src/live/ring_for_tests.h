// Live nodes over memory, each with its runtime on a thread of its own. Rings of four on the
// quadratic toy: a node waits for its two neighbours every round, so a message that is lost for
// good would stop the ring.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "learn/quadratic.h"
#include "live/event_log.h"
#include "live/link/testing.h"
#include "live/runtime.h"
#include "live/runtime_control.h"
#include "run/merge_plan.h"
#include "run/plan.h"

namespace tessera {

inline constexpr std::uint32_t kNodes = 4;
inline constexpr std::size_t kDimension = 50;

struct Crash : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The toy, of which some trainings go wrong.
class SpoiltTrainer final : public Trainer {
 public:
  explicit SpoiltTrainer(QuadraticOptions options) : toy(options) {}
  Quadratic toy;
  std::uint64_t spoilt_first = 0, spoilt_last = 0;  // Counted from 1; none by default.
  std::uint64_t abandoned = 0;                      // This one.

  std::size_t dimension() const override { return toy.dimension(); }
  Vector initial_model() const override { return toy.initial_model(); }
  void train(std::span<TrainJob> cohort) override {
    if (++trainings_ == abandoned) throw WorkAbandoned();
    toy.train(cohort);
    if (trainings_ < spoilt_first || trainings_ > spoilt_last) return;
    for (TrainJob& job : cohort) job.model.front() = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  std::uint64_t trainings_ = 0;
};

// One node of the ring, which may be started several times.
class LiveNode final : public RuntimeObserver {
 public:
  LiveNode(NodeId id, std::string protocol, std::string rule = "auto")
      : id_(id), protocol_(std::move(protocol)), rule_(std::move(rule)) {}

  RuntimeOptions options{.evaluate_every = 10,
                         .checkpoint_every = Duration::zero(),
                         .linger = std::chrono::seconds(10),
                         .retold = 2};
  Round crash_after = 0;          // Ends as a crash would, after this round; 0: never.
  Round crash_at_checkpoint = 0;  // The same, once its state is saved.
  int crash_at_merge_share = 0;   // The same when the so-manieth share of a merge comes.
  int failing_checkpoints = 0;    // So many cannot be written.
  std::uint64_t roster_run = 0;
  std::string attack{};  // Of a hostile node.
  std::string merge{};   // The run's line.
  bool links_as_needed = false;
  std::unique_ptr<EventLogWriter> log{};

  std::vector<RuntimeRow> rows{};
  std::vector<std::string> lines{};  // Of its log.
  Bytes saved{};
  std::uint64_t digest = 0, adoptions = 0;
  Round rounds = 0;
  RunEnd end = RunEnd::kStopped;
  std::string failure{};  // What it ended with, other than a crash.
  std::string shortfall{};
  NodeStatus status{};  // At the end.
  Vector model{};       // Likewise.

  bool has_said(std::string_view words) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(words) != line.npos; });
  }
  SpoiltTrainer& trainer() { return trainer_; }

  // To the end, or to the crash.
  void run(std::unique_ptr<Transport> transport) {
    Runtime runtime(parts(*transport), options);
    if (!saved.empty()) {
      ASSERT_TRUE(runtime.restore(saved).ok());
    }
    runtime_.store(&runtime);
    try {
      end = runtime.run();
      shortfall = runtime.shortfall();
    } catch (const Crash&) {
    } catch (const std::exception& error) {
      failure = error.what();
    }
    runtime_.store(nullptr);
    status = runtime.status();
    model = runtime.node().model();
    digest = digest_of(model);
    rounds = runtime.node().rounds_done();
    adoptions = status.adoptions;
  }
  void stop() {
    if (Runtime* runtime = runtime_.load()) runtime->stop();
  }
  // What comes of restoring a runtime that is not run.
  Result<void> restore(Transport& transport, ByteSpan state) {
    return Runtime(parts(transport), options).restore(state);
  }
  std::atomic<Round> round{0};
  std::atomic<int> offers_declined{0};

  Plan plan() const {
    return read_live_plan({.nodes = std::to_string(kNodes),
                           .seed = "7",
                           .model = fmt::format("quadratic:dimension={}", kDimension),
                           .topology = "ring",
                           .protocol = protocol_,
                           .rule = rule_,
                           .codec = "gamma+f32",
                           .merge = merge});
  }
  std::unique_ptr<Node> make(Vector initial) const {
    return make_node(plan(), id_, std::move(initial), {});
  }
  Quadratic make_trainer() const { return Quadratic({.nodes = kNodes, .dimension = kDimension}); }

 private:
  RuntimeParts parts(Transport& transport) {
    std::shared_ptr<Liar> liar;
    if (!attack.empty()) liar = std::make_shared<Liar>(id_, make_attack(attack), Random(7));
    Contacts::Meets meets;
    if (links_as_needed)
      meets = [id = id_, of_node = plan().protocol.prepared.meets](Round round) {
        return of_node ? of_node(id, round) : std::vector<NodeId>{};
      };
    return {.id = id_,
            .run = roster_run,
            .name = fmt::format("node-{}", id_),
            .make_node = [this](Vector initial) { return make(std::move(initial)); },
            .trainer = &trainer_,
            .evaluator = &evaluator_,
            .transport = &transport,
            .observer = this,
            .meets = std::move(meets),
            .liar = std::move(liar)};
  }
  void on_event(Instant at, const Event& event) override {
    if (log) log->event(at, event);
    if (crash_at_merge_share > 0 && is_of_a_merge(event) && --crash_at_merge_share == 0)
      throw Crash("as asked for");
  }
  bool is_of_a_merge(const Event& event) const {
    const auto* const arrived = std::get_if<Arrived>(&event);
    if (!arrived || !arrived->payload.letter->read()) return false;
    const std::uint64_t run = make_merge(plan(), id_, kDimension)->voice.run;
    return arrived->payload.letter->read()->message->envelope.run == run;
  }
  void on_round(Instant at, const Node& node) override {
    if (log) log->round(at, node.rounds_done(), node.model());
    round = node.rounds_done();
    if (crash_after > 0 && node.rounds_done() >= crash_after) throw Crash("as asked for");
  }
  void on_row(const RuntimeRow& row) override { rows.push_back(row); }
  Bytes last_checkpoint() override { return saved; }
  bool on_checkpoint(Round done, const Bytes& state) override {
    if (failing_checkpoints > 0) return --failing_checkpoints, false;
    saved = state;
    if (done == crash_at_checkpoint && std::exchange(crash_at_checkpoint, 0) > 0)
      throw Crash("as asked for");
    return true;
  }
  void say(LogLevel, std::string_view line) override {
    lines.emplace_back(line);
    if (line.find("is not far ahead") != line.npos) ++offers_declined;
  }

  NodeId id_;
  std::string protocol_, rule_;
  SpoiltTrainer trainer_{{.nodes = kNodes, .dimension = kDimension}};
  QuadraticEvaluator evaluator_{trainer_.toy};
  std::atomic<Runtime*> runtime_{nullptr};
};

// The nonce of the question that a newcomer asks a peer.
inline std::uint64_t await_question(Transport& peer) {
  for (;;) {
    const std::optional<Incoming> incoming = await_message(peer);
    if (!incoming) break;
    const Result<Control> control = decode_control(incoming->bytes, kDimension);
    if (!is_control(incoming->bytes) || !control) continue;
    if (const auto* request = std::get_if<ModelRequest>(&*control)) return request->nonce;
  }
  ADD_FAILURE() << "nothing was asked";
  return 0;
}

class LiveRing : public testing::Test {
 protected:
  void make(const std::string& protocol, TransportOptions link = quick(),
            const std::string& rule = "auto") {
    link.dimension = kDimension;
    network_ = make_test_network("loopback", kNodes, link);
    nodes_.clear();
    for (NodeId id = 0; id < kNodes; ++id)
      nodes_.push_back(std::make_unique<LiveNode>(id, protocol, rule));
  }
  std::jthread start(NodeId id) {
    return std::jthread([this, id] { nodes_[id]->run(network_->start(id)); });
  }
  void run_all() {
    std::vector<std::jthread> threads;
    for (NodeId id = 0; id < kNodes; ++id) threads.push_back(start(id));
  }
  std::vector<std::uint64_t> digests() const {
    std::vector<std::uint64_t> all;
    for (const auto& node : nodes_) all.push_back(node->digest);
    return all;
  }

  std::unique_ptr<TestNetwork> network_;
  std::vector<std::unique_ptr<LiveNode>> nodes_;
};

}  // namespace tessera
