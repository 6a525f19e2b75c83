#include "live/run_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tessera {
namespace {

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Duration from_seconds(double seconds) {
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

RunClock::RunClock(double began_at)
    : known_(began_at > 0), began_at_(known_ ? began_at : system_seconds()) {}

void RunClock::begin_here() {
  if (!known_) began_at_ = system_seconds();
}

void RunClock::start() {
  offset_ = from_seconds(system_seconds() - began_at_) - clock_.now().time_since_epoch();
}

bool RunClock::take_wake_up() {
  if (wake_ups_.empty() || wake_ups_.top() > now()) return false;
  wake_ups_.pop();
  return true;
}

Duration RunClock::until_wake_up(Duration at_most) const {
  if (wake_ups_.empty()) return at_most;
  return std::clamp(wake_ups_.top() - now(), Duration::zero(), at_most);
}

void RunClock::fields(Archive& archive) {
  double began_at = began_at_;
  archive(began_at);
  if (!archive.loading()) return;
  // Beyond two hundred and fifty years the run's age does not fit the clock.
  if (!std::isfinite(began_at) || std::abs(began_at - system_seconds()) > 8e9)
    return archive.refuse("when the run began makes no sense");
  if (!known_) began_at_ = began_at;
}

}  // namespace tessera
