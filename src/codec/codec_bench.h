// Benchmarks of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

void bench_index_codecs(Bench& bench);  // Beside bit-by-bit references and a numpy Elias coder.
void bench_value_codecs(Bench& bench);  // Every row beside memcpy, and planes against fpzip.
void bench_codecs(Bench& bench);        // Index and value codecs.

}  // namespace tessera
