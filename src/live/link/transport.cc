#include "live/link/transport.h"

#include "base/check.h"

namespace tessera {

std::string_view to_string(PeerCondition condition) {
  switch (condition) {
    case PeerCondition::connecting:
      return "connecting";
    case PeerCondition::alive:
      return "alive";
    case PeerCondition::silent:
      return "silent";
    case PeerCondition::lost:
      return "lost";
    case PeerCondition::refused:
      return "refused";
    case PeerCondition::gone:
      return "gone";
  }
  CHECK(!"a condition without a name");
  return {};
}

}  // namespace tessera
