#include "torch/door/door.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "learn/testing_world.h"
#include "torch/door/blas_kernel.h"

namespace tessera {
namespace {

bool libtorch_is_loaded() {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return maps.str().find("libtorch") != std::string::npos;
}

// Trains on the CPU layers, and has an exporter of each kind, before it asks for LibTorch.
TEST(TorchOnDemand, IsLoadedByTheFirstRunThatNeedsIt) {
  const testing::Case c = testing::small_cases().front();
  testing::LearningWorld world(c.task);
  world.backends = {&torch_on_demand(), 1};
  const Learning plain = world.learning(c.spec, "sgd:lr=0.05,batch=4", "cpu");
  world.run(*plain.trainer, 1);
  ASSERT_EQ(plain.exporters.back()->extension(), "pt");
  EXPECT_FALSE(libtorch_is_loaded());

  const Learning reference = world.learning(c.spec, "sgd:lr=0.05,batch=4", "cpu:mode=reference");
  world.run(*reference.trainer, 1);
  EXPECT_TRUE(libtorch_is_loaded());
}

// What it judges was read by the program: the library's tables are not the program's.
TEST(TorchOnDemand, TrainsNodesTogetherAtAConstantRate) {
  const testing::Case c = testing::small_cases().front();
  testing::LearningWorld world(c.task), other(c.task);
  world.backends = other.backends = {&torch_on_demand(), 1};
  world.run(*world.learning(c.spec, "sgd:lr=0.05,batch=4", "cpu").trainer, 1);
  other.run(*other.learning(c.spec, "sgd:lr=0.05,batch=4", "cpu:mode=stacked").trainer, 1);
  EXPECT_LT(largest_gap(other, world), 1e-4);
  EXPECT_THROW(other.learning(c.spec, "sgd:schedule=step", "cpu:mode=stacked"),
               std::invalid_argument);
}

TEST(BlasKernel, IsTheBestTheCpuCanRun) {
  EXPECT_EQ(blas_kernel_for({.avx2_fma = true, .avx512 = true}), "SkylakeX");
  EXPECT_EQ(blas_kernel_for({.avx2_fma = true}), "Haswell");
  EXPECT_EQ(blas_kernel_for({}), "");
}

}  // namespace
}  // namespace tessera
