// One level of the wavelet transform, away from the borders: the loops that take the time.
#pragma once

#include <cstddef>
#include <span>

namespace tessera {

// Outputs first ... last - 1 of one analysis level, all of whose taps lie inside `x`:
//   coarse[k] = sum_j lo[j] x[2k + 1 - j], fine[k] likewise with hi.
void analyse_inside(std::span<const float> lo, std::span<const float> hi, const float* x,
                    float* coarse, float* fine, std::size_t first, std::size_t last);

// `count` outputs of one synthesis level (F the filters' length, p = 0 ... F/2 - 1):
//   y[2m]     = sum_p back_lo[F - 2 - 2p] coarse[m + p] + back_hi[F - 2 - 2p] fine[m + p]
//   y[2m + 1] = the same with F - 1 - 2p
void synthesise(std::span<const float> back_lo, std::span<const float> back_hi, const float* coarse,
                const float* fine, float* y, std::size_t count);

}  // namespace tessera
