// Asks for memory that will soon be needed, so that it is in the cache by then. It changes nothing
// but the time things take.
#pragma once

#include <cstddef>
#include <memory>

namespace tessera {

inline void prefetch_at(const void* address) {
  __builtin_prefetch(address);
}

// All of an object, without what it points to.
template <typename T>
void prefetch(const T& object) {
  constexpr std::size_t kLine = 64;  // Bytes of a line of the cache.
  const auto* begin = reinterpret_cast<const std::byte*>(std::addressof(object));
  for (std::size_t i = 0; i < sizeof(T); i += kLine) prefetch_at(begin + i);
}

}  // namespace tessera
