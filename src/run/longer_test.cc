#include "run/longer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "base/files.h"
#include "run/simulated_run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct Length {
  const char* protocol;
  const char *shorter, *longer;
  const char* evaluate = "every=2s";
};

Plan plan_of(const Length& length, const char* end) {
  return read_plan({.nodes = "6",
                    .model = "quadratic:dimension=40",
                    .topology = "bipartite:degree=2",
                    .protocol = fmt::format("{},{}", length.protocol, end),
                    .network = "links:up=100kB/s,down=100kB/s,latency=20ms",
                    .compute = "constant:round=1s",
                    .evaluate = length.evaluate});
}

struct Told {
  std::vector<std::string> rows{};
  std::uint64_t digest = 0;
  OnRow on_row() {
    return [this](const MetricsRow& row) { rows.push_back(to_json_line(row)); };
  }
};

Told in_one_go(const Plan& plan) {
  Told told;
  SimulatedRun run(plan, 1);
  run.on_row(told.on_row());
  told.digest = run.to_end().model_digest;
  return told;
}

// What a run saved that was to be shorter, `steps` before or just before its first node ended.
Told lengthened(const Plan& before, const Plan& after, int steps) {
  Told told;
  SimulatedRun run(before, 1), longer(after, 1);
  run.on_row(told.on_row());
  longer.on_row(told.on_row());
  run.start();
  while (!run.about_to_end() && steps-- != 0) run.step();
  Bytes state;
  save_fields(run, state);
  ByteReader in(state);
  EXPECT_TRUE(load_fields(longer, in).ok());
  longer.lengthen(before);
  while (longer.step()) continue;
  longer.finish();
  told.digest = longer.summary().model_digest;
  return told;
}

TEST(Longer, EndsInTheBitsOfOneThatWasAsLongFromTheBeginning) {
  for (const Length& length :
       {Length{"dpsgd:patience=none", "rounds=4", "rounds=9", "every=3"},
        Length{"dpsgd:patience=5s", "rounds=1", "rounds=9"},
        Length{"epidemic:fanout=2", "rounds=4", "rounds=9"},
        Length{"divshare:fanout=2", "until=7s", "until=12s", "every=2s,start=yes"},
        Length{"divshare:fanout=2,lag=no", "until=8s", "until=12s"},
        Length{"divshare:fanout=2", "rounds=4", "rounds=9"},
        Length{"adpsgd:form=pairwise", "until=7s", "until=12s", "every=5s"},
        Length{"adpsgd:form=pings,fanout=2", "until=6s", "until=7s"},
        Length{"swift:form=graph", "until=7s", "until=12s"}}) {
    SCOPED_TRACE(length.protocol);
    const Plan before = plan_of(length, length.shorter), after = plan_of(length, length.longer);
    const Told whole = in_one_go(after);
    for (const int steps : {5, -1}) {
      const Told told = lengthened(before, after, steps);
      EXPECT_EQ(told.digest, whole.digest) << steps;
      EXPECT_EQ(told.rows, whole.rows) << steps;
    }
  }
}

TEST(Longer, NotFromWhereSomeNodesHadEnded) {
  const Length length{"dpsgd:patience=none", "rounds=4", "rounds=9"};
  const Plan before = plan_of(length, length.shorter);
  SimulatedRun run(before, 1), longer(plan_of(length, length.longer), 1);
  run.to_end();
  Bytes state;
  save_fields(run, state);
  ByteReader in(state);
  ASSERT_TRUE(load_fields(longer, in).ok());
  EXPECT_THROW(longer.lengthen(before), std::runtime_error);
}

class LongerFolder : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void holds(const Experiment& experiment) const {
    const std::string text = to_toml(read_plan(experiment).experiment);
    ASSERT_TRUE(write_file(folder_ / "config.toml", bytes_of(text)).ok());
  }
  // "goes on", "no" or why not.
  std::string asked(const Experiment& experiment) const {
    try {
      return plan_to_go_on_from(folder_, read_plan(experiment)) ? "goes on" : "no";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }
  fs::path folder_ =
      fs::path(::testing::TempDir()) / fmt::format("tessera_longer_test_{}", ::getpid());
};

TEST_F(LongerFolder, OnlyTheEndAndTheDevicesPlaceMayDiffer) {
  const Experiment ten{.model = "logistic", .protocol = "dpsgd:rounds=10"};
  EXPECT_EQ(asked(ten), "no");
  holds(ten);
  EXPECT_EQ(asked(ten), "no");
  Experiment other = ten;
  other.protocol = "dpsgd:rounds=20";
  EXPECT_EQ(asked(other), "goes on");
  other.seed = "91";
  EXPECT_EQ(asked(other), "no");
  other = ten;
  other.device = "cpu:chunk=5";
  EXPECT_EQ(asked(other), "goes on");
  other.device = "cpu:precision=bf16";
  EXPECT_EQ(asked(other), "no");
  other = ten;
  other.protocol = "dpsgd:rounds=5";
  EXPECT_NE(asked(other).find("not shorter"), std::string::npos) << asked(other);
}

TEST_F(LongerFolder, WhatDependsOnTheLengthIsRefusedByName) {
  const auto answer = [&](std::string Experiment::*line, const char* value) {
    Experiment experiment{.model = "logistic", .protocol = "dpsgd:rounds=10"};
    experiment.*line = value;
    holds(experiment);
    experiment.protocol = "dpsgd:rounds=20";
    return asked(experiment);
  };
  EXPECT_NE(answer(&Experiment::training, "sgd:schedule=cosine").find("length="),
            std::string::npos);
  EXPECT_EQ(answer(&Experiment::training, "sgd:schedule=cosine,length=99"), "goes on");
  EXPECT_NE(answer(&Experiment::sharing, "topk:budget=0.2,schedule=0.5@0.5/2@1").find("schedule"),
            std::string::npos);
  EXPECT_NE(answer(&Experiment::merge, "end").find("merge"), std::string::npos);
}

}  // namespace
}  // namespace tessera
