// The BLAS under LibTorch on the CPU, usually OpenBLAS, which runs threads of its own beside ours
// by default. Which kernels it takes is chosen before it is loaded (torch/door/blas_kernel.h).
#pragma once

#include <string>

namespace tessera {

// "OpenBLAS 0.3.21, Cooperlake kernels", or "not OpenBLAS".
std::string describe_blas();

void use_one_blas_thread();

}  // namespace tessera
