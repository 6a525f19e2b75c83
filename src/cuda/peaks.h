// What a GPU reaches at best: kernels that do nothing but multiply, or copy.
#pragma once

#include "cuda/runtime.h"

namespace tessera::cuda {

// Every thread of `blocks` blocks of 256 multiplies and adds in registers; returns how many
// floating-point operations that are. `out` has room for as many floats as there are threads.
double multiply_plain(cudaStream_t stream, int blocks, float* out);
double multiply_tensor(cudaStream_t stream, int blocks, float* out);
double multiply_halves(cudaStream_t stream, int blocks, float* out);

}  // namespace tessera::cuda
