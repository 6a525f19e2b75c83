// One live node, from its settings to its records. What is left in its folder: a run's records
// (config.toml, metrics.jsonl, checkpoint/), and once it has finished summary.json and model.bin,
// the final model as it lies in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/stopwatch.h"
#include "live/membership.h"
#include "live/reception.h"
#include "live/runtime.h"
#include "report/run_folder.h"
#include "run/lesson.h"
#include "run/live_records.h"
#include "run/live_roster.h"
#include "run/live_settings.h"
#include "run/made.h"
#include "run/plan.h"

namespace tessera {

// What a live node works with besides its settings.
struct LiveParts {
  Say say{};
  std::function<void(const NodeStatus&)> on_progress{};  // Now and then; may be empty.
  // A trainer and an evaluator of one's own; without a trainer, what the settings' lines say.
  Learning lesson{};
  std::function<void(const Node&)> on_finished{};  // Called once, on the thread of run().
};

class LiveRun {
 public:
  // Reads and loads everything, and goes on from the folder's newest checkpoint if there is one.
  // Throws std::invalid_argument for a wrong setting and std::runtime_error for what cannot be
  // used.
  LiveRun(LiveSettings settings, LiveParts parts);
  ~LiveRun();

  // Until the node has finished, or stop() was called; `command` is what a summary says was typed,
  // `made` by which program.
  RunEnd run(const std::string& command, const Made& made = {});
  // Why a run that fell short did.
  std::string shortfall() const { return runtime_->shortfall(); }
  void stop() { runtime_->stop(); }  // Safe in a signal's handler.
  NodeStatus status() const;         // From any thread.

 private:
  Learning make_own_lesson(Learning given) const;
  std::unique_ptr<Transport> make_transport() const;
  RuntimeOptions read_options() const;
  std::vector<NodeId> helpers() const;
  std::vector<NodeId> met_in(Round round) const;
  void keep(const Roster& roster);
  void restore();
  void begin_recording();
  void write_results(const std::string& command, const Made& made);

  Stopwatch watch_;
  const std::string version_ = made_now().version;
  LiveSettings settings_;
  RosterFile roster_;
  NodeId id_;
  Plan plan_;
  RuntimeOptions options_;
  Learning lesson_;
  RunFolder folder_;
  std::unique_ptr<Transport> transport_;
  Say say_;
  Membership membership_;
  Reception reception_;
  LiveRecords records_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace tessera
