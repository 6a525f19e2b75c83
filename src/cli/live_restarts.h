// Starts nodes of a cluster again that have died. One that fails comes back from its checkpoint to
// do the same again, as a model that diverges does: each time that brings no later checkpoint it
// waits twice as long, and in the end it is given up.
#pragma once

#include <map>
#include <optional>

#include "base/stopwatch.h"
#include "cli/live_cluster.h"

namespace tessera {

class Restarts {
 public:
  Restarts(bool allowed, bool quiet) : allowed_(allowed), quiet_(quiet) {}

  // One that has ended. Throws std::runtime_error when the cluster cannot go on.
  void take(LiveCluster& cluster, Child& child);
  void start_those_due(LiveCluster& cluster);
  bool any_due() const { return !start_at_.empty(); }
  void forget() { start_at_.clear(); }

 private:
  struct Failures {
    int in_a_row = 0;
    std::optional<Round> saved{};
  };
  double pause_after_failure(const Child& child);

  bool allowed_, quiet_;
  std::map<NodeId, Failures> failures_;
  std::map<NodeId, double> start_at_;
  Stopwatch watch_;
};

}  // namespace tessera
