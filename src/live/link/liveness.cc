#include "live/link/liveness.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tessera {

void Liveness::heard(Instant now) {
  last_heard_ = now;
  if (condition_ != PeerCondition::kGone && condition_ != PeerCondition::kRefused)
    become(PeerCondition::kAlive, {});
}

void Liveness::heartbeat(Instant now) {
  heard(now);
  arrivals_.heartbeat(now);
}

void Liveness::said_hello(Instant now) {
  // The gap to its next heartbeat says nothing: the connection was made anew.
  arrivals_.forget_last();
  warning_.clear();
  become(PeerCondition::kAlive, {});
  heard(now);
}

void Liveness::said_goodbye(Instant now) {
  last_heard_ = now;
  become(PeerCondition::kGone, "said goodbye");
}

void Liveness::warn(std::string warning) {
  changed_ = changed_ || warning != warning_;
  warning_ = std::move(warning);
}

void Liveness::become(PeerCondition condition, std::string reason) {
  changed_ = changed_ || condition != condition_;
  condition_ = condition;
  reason_ = std::move(reason);
}

void Liveness::tick(Instant now) {
  const Duration silence = now - last_heard_;
  if (alive() && silence > deadline())
    become(PeerCondition::kSilent, fmt::format("nothing heard for {}, longer than its {}",
                                               show_duration(silence), show_duration(deadline())));
}

}  // namespace tessera
