// The k coordinates most worth sending: the indices of the k largest magnitudes, ascending.
//
// The order is total, so the answer is one and the same on every CPU: |score| by value, equal ones
// by index, the lower first. Zeros of either sign are equal. NaN counts as larger than infinity,
// and all NaNs as equal: a coordinate that has diverged is told to the neighbours rather than
// hidden from them.
//
// O(n): a small sample brackets the k-th largest, one pass counts what is above and keeps what is
// inside the bracket, a histogram of what was kept finds the k-th, and a last pass writes the
// indices out. A sample that misleads, as hostile data can make it, costs histograms of all, never
// a wrong answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace tessera {

// Requires k <= scores.size() < 2^32. `chosen` is replaced; handing in the last round's saves the
// allocation.
void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen);

// The k coordinates in which `now` differs most from what was `told`, in the order above, and its
// values there. Of those `told` becomes what `next` has. All three are as long and apart in memory.
struct LargestChanges {
  Indices indices{};
  Vector values{};
};
LargestChanges take_largest_changes(std::span<const float> now, std::span<float> told,
                                    std::span<const float> next, std::size_t k);

namespace plain {
void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen);
LargestChanges take_largest_changes(std::span<const float> now, std::span<float> told,
                                    std::span<const float> next, std::size_t k);
}  // namespace plain

}  // namespace tessera
