// Says when a node's disk has little room left, before its records cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace tessera {

class DiskWatch {
 public:
  using Space = std::function<std::uint64_t()>;  // Bytes left.
  explicit DiskWatch(Space space) : space_(std::move(space)) {}

  void look(Instant now);     // To be called often; it does so every few seconds.
  std::string alarm() const;  // Empty while there is room.

 private:
  Space space_;
  Instant looked_at_ = Instant::min();
  std::uint64_t left_ = ~0ull;
};

}  // namespace tessera
