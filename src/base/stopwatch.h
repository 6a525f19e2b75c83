// Time for people: progress lines, benchmarks, the wall_seconds of a report. Nothing a node
// decides may depend on it; the tidy test lets only this file and live/ read a clock.
#pragma once

#include <time.h>

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

// What the calling thread has computed meanwhile: a busy machine makes wall time longer, not this.
class CpuStopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}  // namespace tessera
