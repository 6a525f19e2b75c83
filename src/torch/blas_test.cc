#include "torch/blas.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// What OpenBLAS 0.3.21 answers on CPUs it knows and on those it does not.
TEST(BetterBlasKernel, ReplacesOnlyWhatIsBelowTheCpu) {
  const CpuFeatures old{}, haswell{.avx2_fma = true}, server{.avx2_fma = true, .avx512 = true};
  EXPECT_EQ(better_blas_kernel("Prescott", server), "SkylakeX");
  EXPECT_EQ(better_blas_kernel("Prescott", haswell), "Haswell");
  EXPECT_EQ(better_blas_kernel("Sandybridge", haswell), "Haswell");
  EXPECT_EQ(better_blas_kernel("Prescott", old), "");
  EXPECT_EQ(better_blas_kernel("SkylakeX", server), "");
  EXPECT_EQ(better_blas_kernel("Cooperlake", server), "");
  EXPECT_EQ(better_blas_kernel("Zen", server), "");
  EXPECT_EQ(better_blas_kernel("Haswell", haswell), "");
  EXPECT_EQ(better_blas_kernel("", server), "");  // Not OpenBLAS.
}

}  // namespace
}  // namespace tessera
