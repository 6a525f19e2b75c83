// Virtual time in integer nanoseconds. The clock has no now(): code that compiles cannot read the
// wall clock by accident, and the driver of a node hands it the time. Only live/ knows a real
// clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace tessera {

using Duration = std::chrono::duration<std::int64_t, std::nano>;

struct VirtualClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<VirtualClock>;
  static constexpr bool is_steady = true;
};

using Instant = VirtualClock::time_point;

// A moment that does not come.
inline constexpr Instant kNever = Instant::max();

// So much later, or never where the clock does not reach so far. `by` is not negative.
constexpr Instant later(Instant at, Duration by) {
  return by < kNever - at ? at + by : kNever;
}

// Whether a moment read from a file can be subtracted from any of this run: a century and more on
// either side of its start.
constexpr bool is_plausible(Instant at) {
  constexpr Duration kFarthest = Duration::max() / 2;
  return at.time_since_epoch() >= -kFarthest && at.time_since_epoch() <= kFarthest;
}

constexpr double to_seconds(Duration d) {
  return static_cast<double>(d.count()) / 1e9;  // Divided, so that 7.5 s is 7.5.
}

}  // namespace tessera
