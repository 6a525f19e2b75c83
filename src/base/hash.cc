#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera {

std::uint64_t hash_bytes(ByteSpan bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash_parts(std::initializer_list<ByteSpan> parts) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const ByteSpan part : parts) XXH3_64bits_update(&state, part.data(), part.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace tessera
