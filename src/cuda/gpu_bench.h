// `tessera bench gpu`.
#pragma once

#include <span>

#include "base/bench.h"
#include "learn/learning.h"

namespace tessera {

// Steps are timed on the other of the program's backends, too.
void bench_gpu(Bench& bench, std::span<const Backend> backends);

}  // namespace tessera
