// Makes the life of a cluster's nodes hard on purpose, and the same way for the same seed: kills
// some, stops others as if their machine had frozen, and lets those go on again. Nodes that are
// killed are started again by whoever watches over the cluster.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/stopwatch.h"
#include "base/time.h"
#include "cli/live_cluster.h"

namespace tessera {

class Nemesis {
 public:
  // "for=2min,every=1s,frozen=3s,seed=1"; an empty line does nothing. Throws std::invalid_argument.
  explicit Nemesis(std::string_view line);

  void act(Cluster& cluster);  // To be called often.
  void report() const;         // What it did, in one line.

 private:
  void strike(Child& child);

  double for_s_ = 0, every_s_ = 1, frozen_s_ = 3;
  Random random_{1};
  Stopwatch watch_;
  double next_at_ = 0;
  std::map<std::string, double> thaws_at_;  // By the frozen node's name.
  int killed_ = 0, frozen_ = 0;
};

}  // namespace tessera
