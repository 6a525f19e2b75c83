// The kernels of the BLAS under LibTorch on the CPU. Debian's LibTorch calls whatever library
// provides libblas.so.3. OpenBLAS 0.3.21 does not know CPUs younger than itself and takes kernels
// made for the Prescott of 2004 there: a third of the speed on one core.
#pragma once

#include <string_view>

namespace tessera {

struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512 = false;  // F, BW, DQ and VL: what the SkylakeX kernels use.
};
CpuFeatures cpu_features();

// OpenBLAS's name for the kernels these features call for; empty where its own choice is as good.
std::string_view blas_kernel_for(CpuFeatures cpu);

// OpenBLAS reads OPENBLAS_CORETYPE when it is loaded, so this comes before LibTorch. A value the
// user has set is left alone.
void choose_blas_kernel();

}  // namespace tessera
