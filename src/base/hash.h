// XXH3, 64 bits: the checksum of messages and files and the digest of models. It finds accidents,
// not attacks.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tessera {

std::uint64_t hash_bytes(ByteSpan bytes, std::uint64_t seed = 0);

}  // namespace tessera
