// What a core's fused multiply-adds reach at best: nothing but registers, and enough sums under way
// that none waits for another. The limit beside which the layers' rates are printed.
#pragma once

#include <cstddef>

namespace tessera {

// Adds to sums[0..15] and returns how many floating-point operations that took, two for a
// multiply-add.
double run_multiply_adds(std::size_t rounds, float* sums);

}  // namespace tessera
