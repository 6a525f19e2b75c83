#include "sim/lives.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(Lives, LastForEverWithoutFaults) {
  const Faults none;
  Lives lives(none, 2);
  const Lives::Plan plan = lives.begin(1, Instant{});
  EXPECT_TRUE(lives.up(1));
  EXPECT_FALSE(plan.crash_at || plan.snapshot_at);
  EXPECT_EQ(lives.crashes(), 0u);
}

TEST(Lives, EndAndBeginAnew) {
  const Faults faults = make_faults("crash=60s/5s,snapshot=2s", 2, Random(1));
  Lives lives(faults, 2);
  const Lives::Plan first = lives.begin(0, Instant(1s));
  EXPECT_GT(*first.crash_at, Instant(1s));
  EXPECT_EQ(*first.snapshot_at, Instant(3s));
  EXPECT_EQ(lives.keep_snapshot(0, Bytes(7), Instant(3s)), Instant(5s));
  EXPECT_GT(lives.end(0, Instant(4s)), Instant(4s));
  EXPECT_FALSE(lives.up(0));
  EXPECT_EQ(lives.number(0), 1u);
  EXPECT_EQ(lives.snapshot(0).size(), 7u);
  const Lives::Plan second = lives.begin(0, Instant(1s));
  EXPECT_TRUE(lives.up(0));
  EXPECT_NE(*second.crash_at, *first.crash_at);  // Each life is drawn anew.
  EXPECT_EQ(lives.crashes(), 1u);
}

TEST(Lives, WithoutMemoryTakeNoSnapshots) {
  const Faults faults = make_faults("crash=60s/5s,memory=nothing", 1, Random(1));
  EXPECT_FALSE(Lives(faults, 1).begin(0, Instant{}).snapshot_at.has_value());
}

TEST(Lives, GoOnFromWhereTheyWereSaved) {
  const Faults faults = make_faults("crash=60s/5s", 2, Random(1));
  Lives lives(faults, 2), loaded(faults, 2);
  lives.keep_snapshot(1, Bytes(3), Instant(1s));
  lives.end(1, Instant(2s));
  Bytes saved;
  save_fields(lives, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(loaded, in).ok());
  EXPECT_TRUE(loaded.up(0));
  EXPECT_FALSE(loaded.up(1));
  EXPECT_EQ(loaded.number(1), 1u);
  EXPECT_EQ(loaded.snapshot(1).size(), 3u);
}

}  // namespace
}  // namespace tessera
