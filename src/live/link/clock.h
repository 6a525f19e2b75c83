// Real time for live nodes: steady, and counted from the moment the clock was made, in the type the
// nodes below know.
#pragma once

#include <chrono>

#include "base/time.h"

namespace tessera {

class SteadyClock {
 public:
  Instant now() const {
    return Instant(std::chrono::duration_cast<Duration>(Steady::now() - start_));
  }

 private:
  using Steady = std::chrono::steady_clock;
  Steady::time_point start_ = Steady::now();
};

}  // namespace tessera
