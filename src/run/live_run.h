// One live node, from its settings to its records. What is left in its folder: a run's records
// (config.toml, metrics.jsonl, checkpoint/), and once it has finished summary.json and model.bin,
// the final model as it lies in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "learn/learning.h"
#include "live/log_level.h"
#include "live/run_end.h"
#include "live/status.h"
#include "node/node.h"
#include "report/metrics.h"
#include "run/live_settings.h"

namespace tessera {

// What a live node works with besides its settings.
struct LiveParts {
  Say say{};
  std::function<void(const NodeStatus&)> on_progress{};  // Now and then; may be empty.
  // A trainer and an evaluator of one's own; without a trainer, what the settings' lines say.
  Learning lesson{};
  std::function<void(const Node&)> on_finished{};  // Called once, on the thread of run().
};

class LiveInsides;

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
  std::string shortfall() const;  // Why a run that fell short did.
  void stop();                    // Safe in a signal's handler.
  NodeStatus status() const;      // From any thread.

 private:
  std::unique_ptr<LiveInsides> insides_;  // In a header of its own, which is not installed.
};

}  // namespace tessera
