// Whom a link leads to, and who may look: rows of the roster (live/roster.h).
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace tessera {

// The address of a member that nobody can connect to. It makes all its connections itself, and what
// others have to tell it travels on those.
inline constexpr std::string_view kDialsOut = "dials-out";

struct Member {
  NodeId id = 0;
  std::string name{};
  std::string address{};     // host:port, IPv6 hosts in brackets; or kDialsOut.
  std::string public_key{};  // CURVE, in Z85.
  bool dials_out() const { return address == kDialsOut; }
  bool operator==(const Member&) const = default;
};

// May ask every member how it is, and nothing else: it is no node, and has no address.
struct RosterObserver {
  std::string name{};
  std::string public_key{};
  bool operator==(const RosterObserver&) const = default;
};

}  // namespace tessera
