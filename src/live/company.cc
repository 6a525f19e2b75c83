#include "live/company.h"

#include <chrono>

namespace tessera {
namespace {

constexpr Duration kTellEvery = std::chrono::milliseconds(20);

}  // namespace

void Company::tell(NodeId peer, const std::optional<CensusTold>& news) {
  if (news) transport_.send(peer, encode_control(*news), MessageClass::kControl);
}

bool Company::greet(const PeerState& peer) {
  const Life life{peer.life, peer.connections};
  const bool anew = std::exchange(greeted_[peer.id], life) != life;
  tell(peer.id, census.news_for(peer.id, anew));
  return anew;
}

void Company::tell_census(bool now) {
  const Instant at = transport_.now();
  if (census.version() == told_ || (!now && at - told_at_ < kTellEvery)) return;
  told_ = census.version();
  told_at_ = at;
  for (const PeerState& peer : transport_.peers())
    if (peer.alive()) tell(peer.id, census.news_for(peer.id, false));
}

}  // namespace tessera
