// A live run's time: it counts from the moment the run began, and goes on where it was in a process
// that was started again. It also knows at which moments the node wants to be woken.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "base/archive.h"
#include "base/time.h"
#include "live/link/clock.h"

namespace tessera {

class RunClock {
 public:
  // When the run began, in seconds of the system's clock; 0: not known.
  explicit RunClock(double began_at);

  // Unless it is known, the run begins now.
  void begin_here();
  // From here on now() is the run's age.
  void start();
  Instant now() const { return clock_.now() + offset_; }

  // Time stands still for the node while it handles an event.
  Instant begin_event() { return event_at_ = now(); }
  Instant event_at() const { return event_at_; }

  void wake_after(Duration delay) { wake_ups_.push(event_at_ + delay); }
  // Whether a wake-up was due; it is over then.
  bool take_wake_up();
  // How long until the next one, at most `at_most`.
  Duration until_wake_up(Duration at_most) const;

  void fields(Archive& archive);

 private:
  const SteadyClock clock_;
  const bool known_;  // The moment was given, so a checkpoint does not say it.
  double began_at_;
  Duration offset_{};  // The run's age when this process began.
  Instant event_at_{};
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> wake_ups_;
};

}  // namespace tessera
