#include "cli/checkpoint_schedule.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tessera {
namespace {

TEST(CheckpointSchedule, IsByTheMinuteUnlessAskedOtherwise) {
  CheckpointSchedule schedule({}, 5);
  EXPECT_FALSE(schedule.is_due(1000, 59));
  EXPECT_TRUE(schedule.is_due(5, 60));
  // One that took two seconds comes every 200 s.
  schedule.saved(20, 2);
  EXPECT_FALSE(schedule.is_due(20, 199));
  EXPECT_TRUE(schedule.is_due(20, 200));
}

TEST(CheckpointSchedule, RoundsCountFromTheLastOne) {
  CheckpointSchedule schedule(parse_checkpoint_every("20"), 5);
  EXPECT_FALSE(schedule.is_due(24, 1e9));
  EXPECT_TRUE(schedule.is_due(25, 0));
  schedule.saved(27, 100);
  EXPECT_FALSE(schedule.is_due(46, 1e9));
  EXPECT_TRUE(schedule.is_due(47, 0));
}

TEST(CheckpointSchedule, CanBeTurnedOff) {
  for (const char* none : {"none", "0"})
    EXPECT_FALSE(CheckpointSchedule(parse_checkpoint_every(none), 0).is_due(1'000'000, 1e9));
  EXPECT_EQ(parse_checkpoint_every("90s").seconds, 90);
}

TEST(CheckpointSchedule, RefusesWhatIsNeitherRoundsNorATime) {
  for (const char* text : {"often", "-1", "1.5", "0s", "-3s", "99999999999999999999", ""})
    EXPECT_THROW((void)parse_checkpoint_every(text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace tessera
