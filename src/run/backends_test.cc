#include "run/backends.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Backends, HaveGpuKernelsWhereTheyWereBuilt) {
  EXPECT_EQ(has_gpu_kernels(backends()), TESSERA_WITH_CUDA == 1);
}

}  // namespace
}  // namespace tessera
