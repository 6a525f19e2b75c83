// `tessera bench gpu`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_gpu(Bench& bench);

}  // namespace tessera
