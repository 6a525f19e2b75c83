// The benchmark of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

// GN-LeNet on the CPU layers, layer by layer, beside what a core's multiply-adds reach at best; and
// a whole step, with direct convolutions and with Winograd's, in float32 and in bf16.
void bench_layers(Bench& bench);

}  // namespace tessera
