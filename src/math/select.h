// The k coordinates most worth sending: the indices of the k largest magnitudes, ascending.
//
// The order is total, so the answer is one and the same on every CPU: |score| by value, equal ones
// by index, the lower first. Zeros of either sign are equal. NaN counts as larger than infinity,
// and all NaNs as equal: a coordinate that has diverged is told to the neighbours rather than
// hidden from them.
//
// O(n): a small sample brackets the k-th largest, one pass counts what is above and keeps what is
// inside the bracket, the same again on what was kept, and a last pass writes the indices out. A
// sample that misleads, as ties and hostile data can make it, costs a slower exact search (three
// histogram passes), never a wrong answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace tessera {

// Requires k <= scores.size() < 2^32. `chosen` is replaced; handing in the last round's saves the
// allocation.
void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen);

namespace plain {
void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen);
}

}  // namespace tessera
