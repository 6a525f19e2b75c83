#include "torch/door/blas_kernel.h"

#include <cstdlib>
#include <string>

namespace tessera {

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return features;
}

std::string_view blas_kernel_for(CpuFeatures cpu) {
  if (cpu.avx512) return "SkylakeX";
  if (cpu.avx2_fma) return "Haswell";  // AMD's Zen kernels are these, too.
  return {};
}

void choose_blas_kernel() {
  const std::string kernel(blas_kernel_for(cpu_features()));
  if (!kernel.empty()) ::setenv("OPENBLAS_CORETYPE", kernel.c_str(), 0);
}

}  // namespace tessera
