#include "live/link/dialer.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {

void Dialer::dial(Instant now) {
  CHECK(!connected());
  phase_ = Phase::kGreeting;
  since_ = now;
  hello_due_ = true;
  hang_up_ = false;
}

bool Dialer::welcomed(Instant now) {
  last_answer_ = now;
  if (!greeting()) return false;
  phase_ = Phase::kOpen;
  since_ = now;
  failures_ = 0;
  if (!std::exchange(rested_, false)) ++connections_;
  cut_off_ = false;
  return true;
}

bool Dialer::wants_hang_up(Instant now, Duration deadline) const {
  if (!connected()) return false;
  if (hang_up_) return true;
  if (greeting()) return now - since_ > greeting_max_;
  return now - last_answer_ > 2 * deadline;
}

// Doubling, and a quarter more or less, so that a thousand nodes that lost the same peer do not all
// come back in the same instant.
Duration Dialer::pause() const {
  Duration pause = retry_.pause_min;
  for (std::uint32_t i = 1; i < failures_ && pause < retry_.pause_max; ++i) pause *= 2;
  Random random = random_.fork("failures", failures_);
  const double jitter = 0.75 + random.uniform() / 2;
  const double nanoseconds =
      static_cast<double>(std::min(pause, retry_.pause_max).count()) * jitter;
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

void Dialer::broke(Instant now, bool refused) {
  const bool was_brief = now - since_ < retry_.pause_min;
  // After a connection that lasted, the first attempt is made at once.
  const bool at_once = open() && !was_brief;
  cut_off_ = cut_off_ || open();
  rested_ = false;
  phase_ = Phase::kAbsent;
  hang_up_ = false;
  next_attempt_ = now;
  if (at_once && !refused) return;
  ++failures_;
  next_attempt_ += refused ? retry_.pause_max : pause();
}

void Dialer::rested(Instant now) {
  CHECK(may_rest());
  phase_ = Phase::kAbsent;
  rested_ = true;
  next_attempt_ = now;
}

void Dialer::peer_is_there(Instant now, bool restarted) {
  hang_up_ = restarted && connected();
  if (restarted && std::exchange(rested_, false)) cut_off_ = true;
  failures_ = 0;
  next_attempt_ = now;
}

}  // namespace tessera
