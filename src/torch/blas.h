// The BLAS under LibTorch on the CPU. Debian's LibTorch calls whatever library provides
// libblas.so.3; with OpenBLAS 0.3.21 two things go wrong by default. It does not know CPUs younger
// than itself and takes kernels made for the Prescott of 2004 (a third of the speed on one core),
// and it runs threads of its own beside ours.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Call this first in main(). OpenBLAS reads OPENBLAS_CORETYPE when it is loaded, which is before
// main: if it chose a kernel below what the CPU can do and the user did not set the variable, the
// program sets it and starts itself again, once, with the same arguments. Does nothing elsewhere.
void choose_blas_kernel(char** argv);

// What CPU features call for, given what OpenBLAS chose; empty when its choice is good enough.
struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512 = false;  // F, BW, DQ and VL: what the SkylakeX kernels use.
};
std::string_view better_blas_kernel(std::string_view chosen, CpuFeatures cpu);
CpuFeatures cpu_features();

// "OpenBLAS 0.3.21, Cooperlake kernels", or "not OpenBLAS".
std::string describe_blas();

void use_one_blas_thread();

}  // namespace tessera
