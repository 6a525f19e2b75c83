#include "cli/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace tessera {
namespace {

TEST(Machine, CoresAreThoseThisProcessMayUse) {
  EXPECT_GE(cores_allowed(), 1u);
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cores_allowed(), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Machine, AProcessThatTookMemoryHasAPeak) {
  constexpr std::size_t kBytes = 32 << 20;
  const std::vector<char> held(kBytes, 'x');
  EXPECT_EQ(held.back(), 'x');
  EXPECT_GE(memory_peak_of(::getpid()), kBytes);
  EXPECT_EQ(memory_peak_of(-1), 0u);
  EXPECT_GT(memory_available(), 0u);
}

TEST(Machine, GpusAreThoseThatAreVisible) {
  ASSERT_EQ(::setenv("CUDA_VISIBLE_DEVICES", "2, GPU-abc", 1), 0);
  EXPECT_EQ(gpus(), (std::vector<std::string>{"2", "GPU-abc"}));
  ASSERT_EQ(::setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
  EXPECT_TRUE(gpus().empty());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace tessera
