// What augmentation does to one image (augment.h).
#pragma once

#include <cstdint>

namespace tessera {

// The pixel at (y, x) comes from (y + down, x + right), x counted from the right where it is
// flipped.
struct ImageMove {
  std::int32_t down = 0, right = 0;
  bool flipped = false;
};

}  // namespace tessera
