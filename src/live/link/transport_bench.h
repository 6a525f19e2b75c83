// Benchmark of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

// Our transport beside ZeroMQ alone, plain and with CURVE, over the loopback interface.
void bench_transport(Bench& bench);

}  // namespace tessera
