#include "cuda/busy_time.h"

#include <gtest/gtest.h>

#include "cuda/for_tests.h"

namespace tessera::cuda {
namespace {

TEST(BusyTime, CountsWhatOverlapsOnce) {
  BusyTime busy;
  EXPECT_EQ(busy.seconds(), 0);
  busy.add(1, 3);
  busy.add(2, 4);  // Overlaps.
  EXPECT_EQ(busy.seconds(), 3);
  busy.add(6, 7);  // Stands alone.
  EXPECT_EQ(busy.seconds(), 4);
  busy.add(1.5, 2.5);  // Within.
  EXPECT_EQ(busy.seconds(), 4);
  busy.add(4, 6);  // Fills the gap.
  EXPECT_EQ(busy.seconds(), 6);
  busy.add(0, 8);  // Around all of it.
  EXPECT_EQ(busy.seconds(), 8);
}

TEST(BusyTime, TakesThemInAnyNearbyOrder) {
  BusyTime busy;
  busy.add(5, 6);
  busy.add(1, 2);
  busy.add(0, 5.5);
  EXPECT_EQ(busy.seconds(), 6);
  busy.add(3, 3);
  busy.add(4, 3);  // Clocks differ by their resolution: none at all.
  EXPECT_EQ(busy.seconds(), 6);
}

TEST(BusyTime, ForgetsNothingOfALongRun) {
  BusyTime busy;
  for (int i = 0; i < 10'000; ++i) busy.add(i, i + 0.5);
  EXPECT_EQ(busy.seconds(), 5'000);
  busy.add(0, 1);  // Long ago, and counted already.
  EXPECT_EQ(busy.seconds(), 5'000);
}

TEST(BusyClock, TimesWhatAStreamDoes) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kBytes = std::size_t{1} << 28;
  const DeviceArray<std::byte> memory(kBytes);
  BusyClock clock;
  const Stream stream;
  Stretch stretch;
  double alone_s = 0;
  for (int i = 0; i < 3; ++i) {
    stretch.begin.record(stream);
    for (int times = 0; times < 10; ++times) stream.clear(memory.data(), kBytes);
    stretch.end.record(stream);
    stream.wait();
    alone_s += stretch.end.seconds_since(stretch.begin);
    clock.add(stretch);
  }
  EXPECT_GT(alone_s, 0);
  EXPECT_NEAR(clock.seconds(), alone_s, 0.01 * alone_s);
}

}  // namespace
}  // namespace tessera::cuda
