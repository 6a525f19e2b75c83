// Whether a peer is there, as far as we can tell: what it was last heard to do, and how long it may
// be silent before we no longer count on it (a failure detector).
#pragma once

#include <string>
#include <utility>

#include "live/link/arrivals.h"
#include "live/link/peer_state.h"

namespace tessera {

class Liveness {
 public:
  explicit Liveness(const HeartbeatOptions& options) : arrivals_(options) {}

  // Something came from it. Of one that said goodbye, or whom we refuse, only that is noted.
  void heard(Instant now);
  void heartbeat(Instant now);
  void said_hello(Instant now);
  void said_goodbye(Instant now);
  void become(PeerCondition condition, std::string reason);
  void explain(std::string reason) { reason_ = std::move(reason); }  // The condition stays.
  // Something people should know of while it is alive, until its next hello.
  void warn(std::string warning);

  // Notices silence.
  void tick(Instant now);
  // Whether the condition has changed, or there is a new warning, since the last call.
  bool take_change() { return std::exchange(changed_, false); }
  bool changed() const { return changed_; }

  PeerCondition condition() const { return condition_; }
  bool alive() const { return condition_ == PeerCondition::kAlive; }
  const std::string& reason() const { return reason_.empty() ? warning_ : reason_; }
  Instant last_heard() const { return last_heard_; }
  Duration deadline() const { return arrivals_.deadline(); }

 private:
  Arrivals arrivals_;
  PeerCondition condition_ = PeerCondition::kConnecting;
  std::string reason_ = "not heard from yet";
  std::string warning_;
  bool changed_ = false;
  Instant last_heard_{};
};

}  // namespace tessera
