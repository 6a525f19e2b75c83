// How far a simulated run is, how fast, and how long it will take: one line that is written over.
#pragma once

#include "base/stopwatch.h"
#include "cli/progress.h"
#include "report/metrics.h"
#include "run/plan.h"
#include "sim/simulation.h"

namespace tessera {

class SimProgress {
 public:
  SimProgress(const Plan& plan, bool quiet);

  void begins_at(const Simulation& simulation);
  void show(const MetricsRow& row);
  void end() { line_.end(); }

 private:
  ProgressLine line_;
  double nodes_;
  bool by_time_;
  double end_ = 0, first_ = 0, first_round_ = 0;  // Seconds where it goes by time, else rounds.
  Stopwatch watch_;
};

}  // namespace tessera
