// Makes the life of a cluster's nodes hard on purpose, and the same way for the same seed: kills
// some, stops others as if their machine had frozen, lets others write no file as if their disk
// were full, and lets those go on again. Nodes that are killed are started again by whoever watches
// over the cluster.
#pragma once

#include <cstdint>
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
  // "for=2min,after=5s,every=1s,frozen=3s,full=5s,absent=1,seed=1"; an empty line does nothing.
  // Throws std::invalid_argument.
  explicit Nemesis(std::string_view line);

  // Members to add to the roster that are not there and whose names nobody knows.
  std::uint32_t absent() const { return absent_; }
  void act(LiveCluster& cluster);  // To be called often.
  void report() const;             // What it did, in one line.

 private:
  void strike(Child& child);
  void relieve(LiveCluster& cluster, double now);

  double for_s_ = 0, every_s_ = 1, frozen_s_ = 3;
  double full_s_ = 0;  // 0: disks are never full.
  std::uint32_t absent_ = 0;
  Random random_{1};
  Stopwatch watch_;
  double next_at_ = 0;
  std::map<std::string, double> thaws_at_, has_room_at_;  // By the name of the node concerned.
  int killed_ = 0, frozen_ = 0, filled_ = 0;
};

}  // namespace tessera
