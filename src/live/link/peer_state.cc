#include "live/link/peer_state.h"

#include "base/check.h"

namespace tessera {

std::string_view to_string(PeerCondition condition) {
  switch (condition) {
    case PeerCondition::kConnecting:
      return "connecting";
    case PeerCondition::kAlive:
      return "alive";
    case PeerCondition::kSilent:
      return "silent";
    case PeerCondition::kLost:
      return "lost";
    case PeerCondition::kRefused:
      return "refused";
    case PeerCondition::kGone:
      return "gone";
    case PeerCondition::kIdle:
      return "idle";
  }
  CHECK(!"a condition without a name");
  return {};
}

}  // namespace tessera
