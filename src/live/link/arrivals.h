// How long a peer may be silent before we stop waiting for it, learnt from its heartbeats: the mean
// gap plus some mean deviations, each a moving average with the gains TCP uses for its
// retransmission timer (Jacobson, "Congestion avoidance and control", 1988).
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"
#include "live/link/options.h"

namespace tessera {

class Arrivals {
 public:
  // Before anything is learnt, gaps are taken to be the interval of our own heartbeats.
  explicit Arrivals(const HeartbeatOptions& options)
      : options_(options), mean_s_(to_seconds(options.interval)), deviation_s_(mean_s_ / 2) {}

  void heartbeat(Instant now) {
    if (last_) learn(to_seconds(now - *last_));
    last_ = now;
  }
  // The next gap says nothing about the peer: the connection was made anew.
  void forget_last() { last_.reset(); }

  Duration deadline() const {
    const double seconds = mean_s_ + options_.deviations * deviation_s_;
    const Duration learnt(static_cast<Duration::rep>(seconds * 1e9));
    return std::clamp(learnt, options_.silence_min, options_.silence_max);
  }

 private:
  void learn(double gap_s) {
    // A night of silence must not take as long to unlearn.
    gap_s = std::min(gap_s, to_seconds(options_.silence_max));
    const double error_s = gap_s - mean_s_;
    mean_s_ += error_s / 8;
    deviation_s_ += ((error_s < 0 ? -error_s : error_s) - deviation_s_) / 4;
  }

  HeartbeatOptions options_;
  double mean_s_;
  double deviation_s_;
  std::optional<Instant> last_;
};

}  // namespace tessera
