// A live run's time: it counts from the moment the run began, and goes on in a process that was
// started again. It also knows at which moments the node wants to be woken.
//
// What a checkpoint holds is the run's age, never a time of day: a machine's clock may be set while
// the process is down. The time between two processes counts where the machine itself has measured
// it, which ends when it is switched off.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/archive.h"
#include "base/time.h"
#include "live/link/clock.h"

namespace tessera {

// A moment by the clock that a machine starts with itself and nobody can set.
struct MachineMoment {
  std::uint64_t boot = 0;  // Which start of which machine.
  Duration since{};
};
MachineMoment machine_now();

class RunClock {
 public:
  // When the run began, in seconds of the system's clock, which then counts more than what was
  // saved; 0: when start() is called, or as a checkpoint says.
  explicit RunClock(double began_at, std::function<MachineMoment()> machine = machine_now);

  // From here on now() is the run's age.
  void start();
  Instant now() const { return clock_.now() + offset_; }

  // Time stands still for the node while it handles an event.
  Instant begin_event() { return event_at_ = now(); }
  Instant event_at() const { return event_at_; }

  void wake_after(Duration delay) { wake_ups_.push(event_at_ + delay); }
  void forget_wake_ups() { wake_ups_ = {}; }
  // Whether a wake-up was due; it is over then.
  bool take_wake_up();
  // How long until the next one, at most `at_most`.
  Duration until_wake_up(Duration at_most) const;

  void fields(Archive& archive);

 private:
  struct Saved {
    Instant age{};  // The run's, as an Instant counts it.
    MachineMoment at{};
  };
  Duration age_at_start() const;

  const SteadyClock clock_;
  const std::function<MachineMoment()> machine_;
  const double began_at_;
  Saved saved_;        // By an earlier process.
  Duration offset_{};  // The run's age when this process began.
  Instant event_at_{};
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> wake_ups_;
};

}  // namespace tessera
