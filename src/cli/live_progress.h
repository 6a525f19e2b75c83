// How far a cluster's nodes are, asked of themselves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "cli/live_cluster.h"
#include "cli/progress.h"

namespace tessera {

class ClusterProgress {
 public:
  explicit ClusterProgress(bool quiet) : line_(quiet) {}
  void show(const std::vector<Child>& children);  // To be called often; it does so now and then.
  void end() { line_.end(); }

 private:
  std::optional<std::string> ask(const Child& child);  // Its status, as JSON.

  ProgressLine line_;
  double shown_at_ = 0;
  Stopwatch watch_;
  std::map<NodeId, double> ask_again_at_;
};

}  // namespace tessera
