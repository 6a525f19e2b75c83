// Wall time for people: progress lines, benchmarks, the wall_seconds of a report. Nothing a node
// decides may depend on it; the tidy test lets only this file and live/ read a clock.
#pragma once

#include <chrono>

namespace tessera {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(WallClock::now() - start_).count();
  }
  void restart() { start_ = WallClock::now(); }

 private:
  using WallClock = std::chrono::steady_clock;
  WallClock::time_point start_ = WallClock::now();
};

}  // namespace tessera
