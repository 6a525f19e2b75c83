// Drives a node through the events a live one recorded, and compares.
#pragma once

#include <string>

#include "base/ids.h"
#include "live/event_log.h"

namespace tessera {

struct ReplayedNode {
  NodeId id = 0;
  Replay story{};
};

// Throws std::invalid_argument for what is no recording, and std::runtime_error for one that does
// not hold.
ReplayedNode replay_live_log(const std::string& file);

}  // namespace tessera
