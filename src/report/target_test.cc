// A run evaluated at 10, 20 and 30 s with accuracies of 40, 50 and 70%, and a loss that falls.
#include "report/target.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tessera {
namespace {

MetricsTable three_rows() {
  MetricsTable table;
  table.rows = 3;
  table.columns = {{"round", {5, 10, 15}},
                   {"virtual_seconds", {10, 20, 30}},
                   {"accuracy", {0.4, 0.5, 0.7}},
                   {"loss", {2.0, 1.5, 1.25}},
                   {"bytes_sent_per_node", {100, 200, 300}}};
  return table;
}

TEST(Target, LiesOnTheStraightWayBetweenTwoRows) {
  const auto reached = first_reached(three_rows(), parse_target("60%"));
  ASSERT_TRUE(reached.has_value());
  EXPECT_NEAR(reached->virtual_seconds, 25, 1e-9);
  EXPECT_NEAR(reached->rounds, 12.5, 1e-9);
  EXPECT_NEAR(reached->bytes_per_node, 250, 1e-9);
  EXPECT_NEAR(first_reached(three_rows(), parse_target("loss=1.75"))->virtual_seconds, 15, 1e-9);
}

TEST(Target, ReachedBeforeTheFirstRowCountsFromIt) {
  EXPECT_EQ(first_reached(three_rows(), parse_target("0.3"))->virtual_seconds, 10);
}

TEST(Target, NeverIsNotANumber) {
  EXPECT_FALSE(first_reached(three_rows(), parse_target("71%")).has_value());
  EXPECT_FALSE(first_reached(three_rows(), parse_target("loss=1")).has_value());
  EXPECT_FALSE(first_reached({}, parse_target("1%")).has_value());
}

// Of three seeds two got there: the mean is theirs, and the table says two of three.
TEST(Target, OfSeveralSeedsThoseThatReachedItCount) {
  MetricsTable slower = three_rows(), never = three_rows();
  slower.columns[2].values = {0.4, 0.45, 0.6};
  never.columns[2].values = {0.4, 0.4, 0.4};
  const std::vector<MetricsTable> seeds = {three_rows(), never, slower};
  const SeedsReached all = mean_reached(seeds, parse_target("60%"));
  EXPECT_EQ(all.reached, 2u);
  EXPECT_EQ(all.seeds, 3u);
  EXPECT_NEAR(all.mean.virtual_seconds, 27.5, 1e-9);
  EXPECT_FALSE(all.mean.early);
  EXPECT_TRUE(mean_reached(seeds, parse_target("30%")).mean.early);
  EXPECT_EQ(mean_reached(seeds, parse_target("90%")).reached, 0u);
}

TEST(Target, RefusesWhatIsNone) {
  for (const char* text : {"", "60", "0", "-1%", "101%", "loss=low", "speed=3", "nan"})
    EXPECT_THROW((void)parse_target(text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace tessera
