// Whom a link leads to: one row of the roster (live/roster.h).
#pragma once

#include <string>

#include "base/ids.h"

namespace tessera {

struct Member {
  NodeId id = 0;
  std::string name{};
  std::string address{};     // host:port; IPv6 hosts stand in brackets.
  std::string public_key{};  // CURVE, in Z85.
  bool operator==(const Member&) const = default;
};

}  // namespace tessera
