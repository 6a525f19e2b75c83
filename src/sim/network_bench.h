// How fast networks are by themselves, for `tessera bench network`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_networks(Bench& bench);

}  // namespace tessera
