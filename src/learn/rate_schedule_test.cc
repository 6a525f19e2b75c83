#include "learn/rate_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "learn/training.h"

namespace tessera {
namespace {

std::vector<float> rates(const char* line, std::uint64_t count) {
  const TrainingOptions training = parse_training(line);
  std::vector<float> all;
  for (std::uint64_t step = 0; step < count; ++step)
    all.push_back(training.schedule.rate(training.lr, step));
  return all;
}

void expect_rates(const char* line, const std::vector<double>& expected) {
  const std::vector<float> ours = rates(line, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_FLOAT_EQ(ours[i], static_cast<float>(expected[i])) << line << ", step " << i;
}

// The closed forms of torch.optim.lr_scheduler: StepLR, MultiStepLR, CosineAnnealingLR, LinearLR,
// and a SequentialLR whose first is the warm-up.
TEST(RateSchedule, EqualsTorchsSchedulers) {
  expect_rates("sgd:lr=0.1,schedule=step,every=2,factor=0.5",
               {0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125});
  expect_rates("sgd:lr=0.1,schedule=milestones,at=2/3/5,factor=0.5",
               {0.1, 0.1, 0.05, 0.025, 0.025, 0.0125, 0.0125});
  expect_rates("sgd:lr=0.1,schedule=milestones,at=1,warmup=2", {0.05, 0.1, 0.1, 0.01, 0.01});
  expect_rates("sgd:lr=0.1,schedule=cosine,length=4,lr_min=0.02",
               {0.1, 0.06 + 0.04 * std::sqrt(0.5), 0.06, 0.06 - 0.04 * std::sqrt(0.5), 0.02, 0.02});
  expect_rates("sgd:lr=0.1,schedule=linear,length=5", {0.1, 0.08, 0.06, 0.04, 0.02, 0, 0});
  expect_rates("sgd:lr=0.1,schedule=linear,length=7,warmup=2",
               {0.05, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02, 0, 0});
}

TEST(RateSchedule, RefusesPartsOfSteps) {
  for (const char* option : {"step,every=2.5", "milestones,at=1/2.5"}) {
    try {
      parse_training(fmt::format("sgd:schedule={}", option));
      ADD_FAILURE() << option;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string_view(error.what()).find("'2.5' is not a whole number"),
                std::string_view::npos)
          << error.what();
    }
  }
}

TEST(RateSchedule, WarmsUpToAConstantRateThatIsTheOneGiven) {
  expect_rates("sgd:lr=0.4,warmup=4", {0.1, 0.2, 0.3, 0.4, 0.4});
  for (const float rate : rates("sgd:lr=0.3", 9)) EXPECT_EQ(rate, 0.3f);
}

// A library that is opened on demand has the table once more, and is handed schedules of the
// program's.
TEST(RateSchedule, IsConstantWhereverItsTableLies) {
  const RateScheduleKind elsewhere = rate_schedules().front();
  EXPECT_TRUE((RateSchedule{.kind = &elsewhere}.constant()));
  EXPECT_FALSE(parse_training("sgd:schedule=linear").schedule.constant());
}

TEST(RateSchedule, TakesTheRunsLengthWhereItNamesNone) {
  RateSchedule schedule = parse_training("sgd:schedule=cosine,warmup=10").schedule;
  EXPECT_TRUE(schedule.wants_length());
  set_length(schedule, 110);
  EXPECT_FALSE(schedule.wants_length());
  EXPECT_FLOAT_EQ(schedule.rate(1, 60), 0.5f);
  EXPECT_THROW(set_length(schedule, 10), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
