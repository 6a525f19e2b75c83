// Averaging that leaves gaps to the receiver: every copy heard pulls a vector towards itself, where
// it says something, and a coordinate that a copy does not tell counts as the receiver's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

// What one peer tells of a vector: all of it, or the coordinates listed.
struct Copy {
  float weight = 0;  // The protocol's; those of all peers sum to less than one.
  std::span<const float> values{};
  bool everything = true;
  std::span<const std::uint32_t> indices{};  // Otherwise: where each value belongs. Ascending.
};

// x += sum_j weight_j (copy_j - x) over the coordinates each copy tells, the sum in the order of
// `copies` and each copy held against x as it was before. A value with the bits of x's own pulls
// nowhere, be it infinite. Indices must be below the length of x: whoever decoded them has checked.
void pull(std::span<float> x, std::span<const Copy> copies);

namespace plain {
void pull(std::span<float> x, std::span<const Copy> copies);
}

}  // namespace tessera
