#include "base/time.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(Later, StopsAtTheEndOfTheClock) {
  EXPECT_EQ(later(Instant(2s), 3s), Instant(5s));
  EXPECT_EQ(later(Instant(2s), Duration::max()), kNever);
  EXPECT_EQ(later(kNever, 1ns), kNever);
  EXPECT_EQ(later(kNever - 2ns, 1ns), kNever - 1ns);
  EXPECT_EQ(later(kNever - 1ns, 1ns), kNever);
}

}  // namespace
}  // namespace tessera
