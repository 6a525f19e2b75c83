// The benchmark of this folder for `tessera bench`.
#pragma once

#include "base/bench.h"

namespace tessera {

// A GN-LeNet step by hand, under autograd and with stock torch::nn modules; one thread against two;
// the rate of matrix products; memory for 96 and 1,024 nodes; and, where there is a GPU, a step of
// 96 and more nodes at once.
void bench_training(Bench& bench);

}  // namespace tessera
