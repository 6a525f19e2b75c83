#include "base/bench.h"

#include <gtest/gtest.h>

#include <string>

#include "base/output.h"

namespace tessera {
namespace {

std::string printed_goals(const Bench& bench) {
  ::testing::internal::CaptureStdout();
  bench.print_goals();
  flush_out();
  return ::testing::internal::GetCapturedStdout();
}

TEST(Bench, AFigureThatMissesItsGoalDoesNotLookLikeIt) {
  Bench bench({});
  bench.goal("a ratio", 1.2973, 1.3);
  bench.limit("a time", 0.35004, 0.35, "s");
  const std::string goals = printed_goals(bench);
  EXPECT_NE(goals.find("   1.297x  wanted  1.30x"), std::string::npos) << goals;
  EXPECT_NE(goals.find(" 0.35004 s  wanted at most 0.35 s"), std::string::npos) << goals;
}

TEST(Bench, OtherFiguresAreShort) {
  Bench bench({});
  bench.goal("a ratio", 2.2614, 1.4);
  bench.goal("one that is met to the bit", 1.3, 1.3);
  bench.limit("a time", 1.10512, 2, "ms");
  const std::string goals = printed_goals(bench);
  EXPECT_NE(goals.find("    2.26x  wanted  1.40x"), std::string::npos) << goals;
  EXPECT_NE(goals.find("    1.30x  wanted  1.30x"), std::string::npos) << goals;
  EXPECT_NE(goals.find("    1.11 ms"), std::string::npos) << goals;
  EXPECT_EQ(goals.find("MISSED"), std::string::npos) << goals;
}

}  // namespace
}  // namespace tessera
