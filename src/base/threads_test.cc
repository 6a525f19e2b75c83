#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(Workers, RunEveryIndexOnce) {
  for (unsigned threads : {1u, 2u, 5u}) {
    Workers workers(threads);
    EXPECT_EQ(workers.threads(), threads);
    for (std::size_t count : {0u, 1u, 7u, 1000u}) {
      std::vector<std::atomic<int>> runs(count);
      workers.for_each(count, [&](std::size_t i, unsigned worker) {
        ASSERT_LT(worker, threads);
        ++runs[i];
      });
      for (const auto& n : runs) EXPECT_EQ(n, 1);
    }
  }
}

// Most workers wake to find the job over, and must take the next one or the one after it.
TEST(Workers, RunShortJobsInARow) {
  Workers workers(5);
  std::atomic<std::size_t> runs = 0;
  for (std::size_t job = 0; job < 2000; ++job)
    workers.for_each(2 + job % 3, [&](std::size_t) { ++runs; });
  EXPECT_EQ(runs, 666u * (2 + 3 + 4) + 2 + 3);
}

TEST(Workers, ThrowTheFailureOfTheLowestIndexAfterAllHaveRun) {
  Workers workers(4);
  std::atomic<int> runs = 0;
  const auto body = [&](std::size_t i) {
    ++runs;
    if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
  };
  try {
    workers.for_each(100, body);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(runs, 100);
  workers.for_each(4, [](std::size_t) {});  // The pool is usable afterwards.
}

}  // namespace
}  // namespace tessera
