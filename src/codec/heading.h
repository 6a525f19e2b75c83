// What a protocol writes beside a share: where the sender stood when it sent it, and a few bytes
// whose meaning is the protocol's alone. Sharings never see it.
#pragma once

#include <cstdint>

#include "base/archive.h"
#include "base/bytes.h"
#include "base/ids.h"

namespace tessera {

inline constexpr std::size_t kOwnBytesMax = 255;

struct Heading {
  Round round = 0;
  std::uint32_t degree = 0;  // How many peers the sender talks to this round.
  std::uint64_t age = 0;     // Local steps the sender's model has seen.
  // The protocol's own: AD-PSGD's questions have one byte, push-sum would send its weight. At most
  // kOwnBytesMax; the first two cost nothing on the wire.
  Bytes own{};
  bool operator==(const Heading&) const = default;
};

}  // namespace tessera
