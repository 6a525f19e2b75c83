// Benchmarks of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_wavelet(Bench& bench);  // Transform and inverse beside memcpy and PyWavelets.
void bench_select(Bench& bench);   // The 10% largest beside std::nth_element.

}  // namespace tessera
