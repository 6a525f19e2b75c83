#include "run/simulated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "learn/quadratic.h"

namespace tessera {
namespace {

Plan toy(const char* protocol) {
  return read_plan({.nodes = "6",
                    .model = "quadratic:dimension=40",
                    .protocol = protocol,
                    .sharing = "topk:budget=0.3",
                    .network = "links:up=100kB/s,down=100kB/s,latency=20ms",
                    .evaluate = "every=2s"});
}

Bytes state_of(const SimulatedRun& run) {
  Bytes state;
  save_fields(run, state);
  return state;
}

struct Told {
  std::vector<std::string> rows{};
  std::uint64_t digest = 0;
  std::string summary{};
  bool ended_before = false;  // It had come to its end when it was to be stopped.
};

// To the end, stopped and restored after so many steps; 0: in one go.
Told run(const char* protocol, int stop_after) {
  Told told;
  const auto on_row = [&](const MetricsRow& row) { told.rows.push_back(to_json_line(row)); };
  const auto run = std::make_unique<SimulatedRun>(toy(protocol), 1);
  run->on_row(on_row);
  run->start();
  for (int i = 0; i < stop_after; ++i)
    if (!run->step()) told.ended_before = true;
  SimulatedRun again(toy(protocol), 1);
  again.on_row(on_row);
  const Bytes saved = state_of(*run);
  ByteReader in(saved);
  EXPECT_TRUE(load_fields(again, in).ok());
  EXPECT_EQ(in.left(), 0u);
  while (again.step()) {
  }
  again.finish();
  Summary summary = again.summary();
  told.digest = summary.model_digest;
  summary.took = {};
  summary.peak_rss_bytes = 0;
  told.summary = to_json(summary);
  return told;
}

TEST(SimulatedRun, IsTheSameStoppedAndRestored) {
  for (const char* protocol : {"dpsgd:rounds=12", "divshare:fanout=2,until=12s"}) {
    const Told whole = run(protocol, 0);
    EXPECT_GE(whole.rows.size(), 6u);
    for (const int steps : {1, 7, 30}) {
      const Told stopped = run(protocol, steps);
      EXPECT_EQ(stopped.digest, whole.digest) << protocol << " " << steps;
      EXPECT_EQ(stopped.rows, whole.rows) << protocol << " " << steps;
    }
  }
}

// Also in the moments after the last row, when nothing but the end is left to come.
TEST(SimulatedRun, CanBeStoppedAfterAnyStep) {
  for (const char* protocol : {"dpsgd:rounds=4", "divshare:fanout=2,until=6s"}) {
    const Told whole = run(protocol, 0);
    for (int steps = 1;; ++steps) {
      const Told stopped = run(protocol, steps);
      if (stopped.ended_before) break;
      ASSERT_EQ(stopped.summary, whole.summary) << protocol << " " << steps;
      ASSERT_EQ(stopped.rows, whole.rows) << protocol << " " << steps;
    }
  }
}

TEST(SimulatedRun, RefusesACheckpointThatIsCutShort) {
  SimulatedRun run(toy("dpsgd:rounds=4"), 1);
  run.start();
  run.step();
  const Bytes state = state_of(run);
  SimulatedRun other(toy("dpsgd:rounds=4"), 1);
  ByteReader in(ByteSpan(state).first(state.size() / 2));
  EXPECT_FALSE(load_fields(other, in).ok());
}

// Messages are lost and nobody has patience: the run says what its nodes wait for.
TEST(SimulatedRun, SaysWhyItIsStuck) {
  SimulatedRun run(read_plan({.nodes = "4",
                              .model = "quadratic:dimension=5",
                              .topology = "ring",
                              .protocol = "dpsgd:rounds=50",
                              .faults = "loss=0.5"}),
                   1);
  run.start();
  while (run.step()) {
  }
  EXPECT_THROW(run.finish(), std::runtime_error);
}

// Two of six nodes are hostile: every figure is of the other four, by rounds and by time.
TEST(SimulatedRun, MeasuresTheHonestNodes) {
  for (const char* protocol : {"dpsgd:rounds=6", "divshare:fanout=2,until=6s"}) {
    for (const char* evaluate : {"every=2", "every=2s"}) {
      if (protocol[1] == 'i' && evaluate[7] == 0) continue;  // DivShare has no rounds in common.
      SimulatedRun run(read_plan({.nodes = "6",
                                  .model = "quadratic:dimension=40",
                                  .protocol = protocol,
                                  .faults = "hostile=n1/n4,attack=random:sigma=3",
                                  .evaluate = evaluate}),
                       1);
      const Summary summary = run.to_end();
      EXPECT_EQ(summary.hostile, (std::vector<NodeId>{1, 4}));
      EXPECT_EQ(summary.last.hostile, 2u);
      double sum = 0;
      for (NodeId id = 0; id < 6; ++id) {
        EXPECT_EQ(std::isnan(summary.node_loss[id]), id == 1 || id == 4) << id;
        if (id != 1 && id != 4) sum += summary.node_loss[id] / 4;
      }
      EXPECT_NEAR(summary.last.loss.mean, sum, 1e-9 * sum);
      EXPECT_NE(to_json(summary).find("\"hostile_nodes\": 2"), std::string::npos);
    }
  }
}

// Ten classes in ten nodes' hands, two of which count them from the other end.
TEST(SimulatedRun, FlipsTheLabelsOfTheHostile) {
  const auto counts_of = [](const char* faults) {
    SimulatedRun run(read_plan({.nodes = "6",
                                .data = "synthetic:samples=600",
                                .partition = "shards:per_node=2",
                                .protocol = "dpsgd:rounds=1",
                                .faults = faults}),
                     1);
    return run.to_end().class_counts;
  };
  const auto honest = counts_of("none"), hostile = counts_of("hostile=n1/n4,attack=label_flip");
  for (NodeId id = 0; id < 6; ++id) {
    auto expected = honest[id];
    if (id == 1 || id == 4) std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(hostile[id], expected) << id;
  }
}

TEST(SimulatedRun, TakesATrainerOfOnesOwn) {
  auto trainer = std::make_unique<Quadratic>(QuadraticOptions{.nodes = 6, .dimension = 17});
  auto evaluator = std::make_unique<QuadraticEvaluator>(*trainer);
  SimulatedRun run(toy("dpsgd:rounds=3"),
                   Learning{.trainer = std::move(trainer), .evaluator = std::move(evaluator)});
  const Summary summary = run.to_end();
  EXPECT_EQ(summary.parameters, 17u);
  EXPECT_EQ(summary.edges.size(), 12u);
}

}  // namespace
}  // namespace tessera
