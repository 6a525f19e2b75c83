// Benchmark of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_topology(Bench& bench);  // Drawing graphs, asking for peers, the spectral gap.

}  // namespace tessera
