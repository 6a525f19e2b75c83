// XXH3, 64 bits: the checksum of messages and files and the digest of models. It finds accidents,
// not attacks.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/bytes.h"

namespace tessera {

std::uint64_t hash_bytes(ByteSpan bytes, std::uint64_t seed = 0);
// The same of bytes that lie in several places.
std::uint64_t hash_parts(std::initializer_list<ByteSpan> parts);

}  // namespace tessera
