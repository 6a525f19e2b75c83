// How long training takes: worked examples, and what is refused.
#include "sim/compute.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/files.h"
#include "sim/network.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Compute> compute_of(std::string_view spec) {
  return make_compute(spec, {.nodes = 60, .steps = 128, .random = Random(3)});
}

std::string trace_file(std::string_view text) {
  const std::string path = testing::TempDir() + "compute_test.csv";
  EXPECT_TRUE(write_file(path, bytes_of(text)).ok());
  return path;
}

TEST(Compute, ConstantIsStepsTimesStepOrTheRound) {
  EXPECT_EQ(compute_of("constant:step=5ms")->training_time(7, 3, Instant(9s)), 640ms);
  EXPECT_EQ(compute_of("constant:round=0.75s")->training_time(7, 3, Instant(9s)), 750ms);
}

TEST(Compute, StragglersTakeAboutSlowdownTimesAsLong) {
  const auto compute = compute_of("constant:round=1s,stragglers=30,slowdown=4");
  double sum = 0;
  for (NodeId id = 0; id < 30; ++id) sum += to_seconds(compute->training_time(id, 0, Instant{}));
  EXPECT_NEAR(sum / 30, 4, 0.3);
  EXPECT_EQ(compute->training_time(30, 0, Instant{}), 1s);
  EXPECT_EQ(compute->training_time(0, 0, Instant{}), compute->training_time(0, 5, Instant(3s)));
}

TEST(Compute, SpreadsHaveTheMeanStatedAndRepeat) {
  for (const char* spec : {"normal:round=1s,deviation=0.2", "lognormal:round=1s,sigma=0.5"}) {
    const auto compute = compute_of(spec);
    const auto again = compute_of(spec);
    double sum = 0;
    for (std::uint64_t nth = 0; nth < 4000; ++nth) {
      const Duration time = compute->training_time(nth % 60, nth, Instant{});
      EXPECT_GT(time, 0s);
      EXPECT_EQ(time, again->training_time(nth % 60, nth, Instant(5s)));
      sum += to_seconds(time);
    }
    EXPECT_NEAR(sum / 4000, 1, 0.03) << spec;
    EXPECT_NE(compute->training_time(0, 0, Instant{}), compute->training_time(0, 1, Instant{}));
    EXPECT_NE(compute->training_time(0, 0, Instant{}), compute->training_time(1, 0, Instant{}));
  }
}

// One second of work. Node 0 has half the speed from 10 s on, and is away from 11 to 14 s.
TEST(Compute, ATraceSlowsAndStopsTraining) {
  const auto compute = compute_of("constant:round=1s,trace=" +
                                  trace_file("time,node,speed,on\n10s,0,0.5,\n11s,0,,no\n"
                                             "14s,0,,yes\n20s,1,,no\n"));
  EXPECT_EQ(compute->training_time(0, 0, Instant(8s)), 1s);
  EXPECT_EQ(compute->training_time(0, 0, Instant(9500ms)), 500ms + 1s);
  EXPECT_EQ(compute->training_time(0, 0, Instant(10500ms)), 500ms + 3s + 1500ms);
  EXPECT_EQ(compute->training_time(0, 0, Instant(12s)), 2s + 2s);
  EXPECT_EQ(compute->training_time(2, 0, Instant(12s)), 1s);
  // A node that never comes back never finishes.
  EXPECT_EQ(Instant(19500ms) + compute->training_time(1, 0, Instant(19500ms)), kNever);
}

TEST(Compute, RefusesWhatMakesNoSense) {
  for (const char* spec :
       {"constant:step=1ms,round=1s", "constant:step=-1ms", "constant:round=1000000h",
        "constant:stragglers=61", "constant:stragglers=1,slowdown=0", "normal:deviation=-1",
        "lognormal:sigma=nan", "constant:trace=no/such.csv", "steady", "constant:speed=2"})
    EXPECT_THROW(compute_of(spec), std::invalid_argument) << spec;
}

}  // namespace
}  // namespace tessera
