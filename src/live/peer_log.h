// Which changes of a peer's condition the log tells: all of them, unless they come in a storm. A
// member that comes and goes a thousand times a second would fill the disk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "live/link/peer_state.h"
#include "live/log_level.h"

namespace tessera {

// A peer that is silent, lost or refused is worth a warning.
LogLevel level_of(PeerCondition condition);

class PeerLog {
 public:
  // The line for a change, or nothing where the peer has had its lines for this minute. The first
  // line after that says how many were left out. That links are made and hung up as they are needed
  // is nothing to tell.
  std::optional<std::string> line(const PeerState& peer, Instant now);

 private:
  struct Minute {
    Instant since{};
    std::uint32_t said = 0;
    std::uint64_t left_out = 0;
    bool rested = false;  // It was alive, and there was no need of a link since.
  };
  std::map<NodeId, Minute> minutes_;
};

}  // namespace tessera
