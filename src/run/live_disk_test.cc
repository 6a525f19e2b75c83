#include "run/live_disk.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(DiskWatch, SaysWhenLittleIsLeftAndLooksNowAndThen) {
  std::uint64_t left = 1ull << 30;
  int looks = 0;
  DiskWatch disk([&] { return ++looks, left; });
  EXPECT_EQ(disk.alarm(), "");
  for (Instant now(0s); now < Instant(10s); now += 200ms) disk.look(now);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(disk.alarm(), "");
  left = 12 << 20;
  disk.look(Instant(10s));
  EXPECT_EQ(disk.alarm(), "DISK: 12 MiB are left where its records go");
  left = 1ull << 30;
  disk.look(Instant(20s));
  EXPECT_EQ(disk.alarm(), "");
}

}  // namespace
}  // namespace tessera
