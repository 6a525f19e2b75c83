// Benchmarks of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

// Everything one node does besides training in a round of JWINS with four neighbours, as the
// simulator and a live node run it: pack, encode, decode four messages, merge.
void bench_share_path(Bench& bench);

}  // namespace tessera
