// The simulator's own speed, for `tessera bench simulator`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_simulator(Bench& bench);

}  // namespace tessera
