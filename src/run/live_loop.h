// A live node beside a loop of the caller's, which is its trainer: the node runs on a thread of its
// own, and the loop exchanges models with it.
//
//   LiveLoop node(settings, {.model = initial});
//   node.start("by hand");
//   while (node.desk().wait(patience) == LoopDesk::Call::kTrain) {
//     Vector model = node.desk().model();
//     const float loss = train(model, node.desk().seed());
//     node.desk().trained(std::move(model), loss, {});
//   }
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/stopwatch.h"
#include "live/loop_desk.h"
#include "run/live_run.h"

namespace tessera {

struct LoopParts {
  Vector model{};                        // Every node begins with it.
  std::vector<std::uint32_t> tensors{};  // How many of its values each tensor has; empty: one.
  std::string description{};
  bool tests = false;  // Whether the loop tests models, too.
};

class LiveLoop {
 public:
  // Throws what LiveRun throws, and for settings that a loop of one's own cannot have.
  LiveLoop(LiveSettings settings, LoopParts parts);
  ~LiveLoop();  // Leaves.
  LiveLoop(const LiveLoop&) = delete;
  LiveLoop& operator=(const LiveLoop&) = delete;

  void start(std::string command);
  LoopDesk& desk() { return desk_; }
  // What is asked for is abandoned. A node that waits for its peers finishes the round first, if
  // that takes no longer than a few seconds. Asks only; end() waits.
  void leave();
  // Until the node has gone, if it is asked to or has come to its end, and how. Throws what it
  // failed with.
  RunEnd end();

  NodeStatus status() const;      // The last one, after the end.
  std::string shortfall() const;  // After the end.
  // What it has said since it was last asked, and how many seconds after its beginning.
  using Line = std::pair<double, std::string>;
  std::vector<Line> take_lines();

 private:
  void say(std::string_view line);

  Stopwatch watch_;
  std::mutex ending_;
  mutable std::mutex mutex_;
  std::deque<Line> lines_;
  LoopDesk desk_;
  std::unique_ptr<LiveRun> run_;  // Until the end.
  RunEnd end_ = RunEnd::kStopped;
  std::exception_ptr failure_;
  NodeStatus last_status_;
  std::string shortfall_;
  std::thread thread_;
};

}  // namespace tessera
