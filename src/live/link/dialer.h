// The connection we make to a peer: when to make it, when to give it up, and how long to pause
// before the next attempt (exponential backoff).
//
//   absent --dial()--> greeting --welcomed()--> open
//     ^---- rested(), or broke(), after a pause ----'
#pragma once

#include <cstdint>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "live/link/options.h"

namespace tessera {

class Dialer {
 public:
  // A greeting is given up after `greeting_max`. `random` spreads the pauses.
  Dialer(RetryOptions retry, Duration greeting_max, Random random)
      : retry_(retry), greeting_max_(greeting_max), random_(random) {}

  bool connected() const { return phase_ != Phase::kAbsent; }
  bool open() const { return phase_ == Phase::kOpen; }
  bool greeting() const { return phase_ == Phase::kGreeting; }
  bool hello_due() const { return hello_due_; }
  Instant since() const { return since_; }  // Of the phase it is in.
  // A connection that is taken up after a rest is none of its own.
  std::uint64_t connections() const { return connections_; }
  // It was open and ended without a word of ours: the peer may have been started anew, and is to be
  // found.
  bool cut_off() const { return cut_off_; }

  bool may_dial(Instant now) const { return !connected() && now >= next_attempt_; }
  void dial(Instant now);
  // Whether the hello is to be said now. It is said once.
  bool take_hello() { return greeting() && std::exchange(hello_due_, false); }
  // Whether this opened the connection; false when it was open.
  bool welcomed(Instant now);
  void answered(Instant now) { last_answer_ = now; }

  void hang_up() { hang_up_ = connected(); }
  // A peer that stands still accepts connections and answers none; a cable that was pulled reports
  // nothing at all. Both are found by waiting: an open connection without an answer for twice
  // `deadline` is given up.
  bool wants_hang_up(Instant now, Duration deadline) const;
  // It ended, or could not be made. One that `refused` us, or said goodbye, is left alone for the
  // longest pause.
  void broke(Instant now, bool refused);
  // It may be hung up for want of use; and was.
  bool may_rest() const { return open() && !hang_up_; }
  void rested(Instant now);

  // The peer was heard on a connection of its own: no pause is sat out, and where it has
  // `restarted`, a connection to its former life is not trusted.
  void peer_is_there(Instant now, bool restarted);

 private:
  enum class Phase { kAbsent, kGreeting, kOpen };
  Duration pause() const;

  RetryOptions retry_;
  Duration greeting_max_;
  Random random_;
  Phase phase_ = Phase::kAbsent;
  Instant since_{};
  bool hello_due_ = false;
  bool hang_up_ = false;
  Instant last_answer_{};
  Instant next_attempt_{};
  std::uint32_t failures_ = 0;  // Attempts in a row without a welcome.
  std::uint64_t connections_ = 0;
  bool cut_off_ = false;
  bool rested_ = false;  // Since the last connection, and was not tried since.
};

}  // namespace tessera
