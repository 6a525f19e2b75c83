// Vectors that begin at a cache line: a load that straddles two lines costs two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tessera {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};
using Floats64 = std::vector<float, LineAllocator<float>>;

}  // namespace tessera
