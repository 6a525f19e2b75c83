#include "run/simulated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "learn/export.h"
#include "learn/quadratic.h"

namespace tessera {
namespace {

Plan toy(const char* protocol, const char* evaluate = "every=2s") {
  return read_plan({.nodes = "6",
                    .model = "quadratic:dimension=40",
                    .protocol = protocol,
                    .sharing = "topk:budget=0.3",
                    .network = "links:up=100kB/s,down=100kB/s,latency=20ms",
                    .evaluate = evaluate});
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
Told run(const char* protocol, int stop_after, const char* evaluate = "every=2s") {
  Told told;
  const auto on_row = [&](const MetricsRow& row) { told.rows.push_back(to_json_line(row)); };
  const auto run = std::make_unique<SimulatedRun>(toy(protocol, evaluate), 1);
  run->on_row(on_row);
  run->start();
  for (int i = 0; i < stop_after; ++i)
    if (!run->step()) told.ended_before = true;
  SimulatedRun again(toy(protocol, evaluate), 1);
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

TEST(SimulatedRun, SummaryHasTheTimeOfGpusWhereThereAreSome) {
  const Plan plan = toy("dpsgd:rounds=2", "every=1");
  EXPECT_EQ(to_json(SimulatedRun(plan, 1).to_end()).find("gpu"), std::string::npos);
  Learning lesson = make_lesson(plan, 1);
  lesson.gpu_use = [] { return GpuUse{.gpus = 2, .busy_s = 1.5}; };
  const std::string json = to_json(SimulatedRun(plan, std::move(lesson), 1).to_end());
  EXPECT_NE(json.find("\"gpu_busy_seconds\": 1.5,"), std::string::npos) << json;
  EXPECT_NE(json.find("\"gpus\": 2,"), std::string::npos);
  const std::string seeds[] = {json, json};
  EXPECT_NE(combine_summaries(seeds).find("\n  \"gpu_busy_seconds\": 1.5,"), std::string::npos);
}

// It moves no other row and no bit, and a run stopped before or after it has it once.
TEST(SimulatedRun, BeginsWithARowOfTheStartWhereThatIsAsked) {
  for (const auto& [protocol, evaluate] :
       {std::pair("dpsgd:rounds=4", std::string("every=2")),
        std::pair("dpsgd:rounds=4", std::string("every=2s")),
        std::pair("divshare:fanout=2,until=6s", std::string("every=2s"))}) {
    const Told without = run(protocol, 0, evaluate.c_str());
    for (const int steps : {0, 1, 9}) {
      const Told with = run(protocol, steps, (evaluate + ",start=yes").c_str());
      EXPECT_EQ(with.digest, without.digest);
      ASSERT_EQ(with.rows.size(), without.rows.size() + 1) << protocol << " " << evaluate;
      EXPECT_TRUE(std::equal(without.rows.begin(), without.rows.end(), with.rows.begin() + 1));
      for (const char* part : {"\"round\":0,", "\"train_loss\":null,", "\"virtual_seconds\":0.0,",
                               "\"bytes_sent_per_node\":0.0,"})
        EXPECT_NE(with.rows[0].find(part), std::string::npos) << with.rows[0];
    }
  }
}

TEST(SimulatedRun, RowsHaveEveryNodesScoresWhereThatIsAsked) {
  SimulatedRun run(toy("dpsgd:rounds=4", "every=1,nodes=yes"), 1);
  std::vector<MetricsRow> rows;
  run.on_row([&](const MetricsRow& row) { rows.push_back(row); });
  const Summary summary = run.to_end();
  ASSERT_EQ(rows.size(), 4u);
  for (const MetricsRow& row : rows) {
    ASSERT_EQ(row.nodes.size(), 6u);
    const auto [worst, best] =
        std::minmax_element(row.nodes.begin(), row.nodes.end(),
                            [](const Score& a, const Score& b) { return a.loss < b.loss; });
    EXPECT_EQ(worst->loss, row.loss.min);
    EXPECT_EQ(best->loss, row.loss.max);
    EXPECT_NE(to_json_line(row).find("\"node_accuracy\":["), std::string::npos);
  }
  EXPECT_EQ(rows.back().nodes[3].loss, summary.node_loss[3]);
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

// By rounds on links where nodes are rounds apart, and by time; the figures are those of the final
// models, taken one by one.
TEST(SimulatedRun, MeasuresTheMeanOfTheHonestModels) {
  for (const char* evaluate : {"every=2", "every=2s"}) {
    SimulatedRun run(read_plan({.nodes = "6",
                                .model = "quadratic:dimension=40",
                                .protocol = "dpsgd:rounds=6",
                                .faults = "hostile=n1/n4,attack=random:sigma=3",
                                .evaluate = evaluate}),
                     1);
    const Summary summary = run.to_end();
    const std::vector<NodeId> honest = {0, 2, 3, 5};
    std::vector<std::span<const float>> models;
    for (const NodeId id : honest) models.emplace_back(run.simulation().node(id).model());
    const Vector mean = average_models(models);
    double squares = 0, norm = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      norm += double{mean[i]} * mean[i];
      for (const auto model : models) squares += std::pow(double{model[i]} - mean[i], 2) / 4;
    }
    const std::vector<std::span<const float>> merged = {mean};
    const Score score =
        run.lesson().evaluator->evaluate(std::span(honest).first(1), merged).front();
    ASSERT_TRUE(summary.last.merged.has_value());
    EXPECT_EQ(summary.last.merged->score.accuracy, score.accuracy);
    EXPECT_NEAR(summary.last.merged->score.loss, score.loss, 1e-6);
    EXPECT_NEAR(summary.last.merged->distance, std::sqrt(squares), 1e-6);
    EXPECT_NEAR(summary.last.merged->relative_distance, std::sqrt(squares / norm), 1e-6);
    EXPECT_GT(summary.last.merged->distance, 0.1);
    EXPECT_NE(to_json(summary).find("\"consensus_relative\": "), std::string::npos);
  }
}

// A crashed node's model is not a part of the mean, and comes back into it with the node.
TEST(SimulatedRun, TheMeanIsOfNodesThatAreUp) {
  SimulatedRun run(read_plan({.nodes = "6",
                              .model = "quadratic:dimension=40",
                              .protocol = "divshare:fanout=2,until=30s",
                              .faults = "crash=8s/4s",
                              .evaluate = "every=1s"}),
                   1);
  std::size_t some_down = 0;
  run.on_row([&](const MetricsRow& row) {
    std::vector<std::span<const float>> up;
    for (NodeId id = 0; id < 6; ++id)
      if (run.simulation().is_up(id)) up.emplace_back(run.simulation().node(id).model());
    some_down += up.size() < 6 ? 1 : 0;
    ASSERT_EQ(row.merged.has_value(), !up.empty());
    if (up.empty()) return;
    const Vector mean = average_models(up);
    const std::vector<NodeId> node = {0};
    const std::vector<std::span<const float>> merged = {mean};
    EXPECT_NEAR(row.merged->score.loss, run.lesson().evaluator->evaluate(node, merged).front().loss,
                1e-6);
  });
  (void)run.to_end();
  EXPECT_GT(some_down, 3u);
}

// Rows with a merged model are the same for any number of threads and over a stop in any step, also
// while some nodes have completed a round and others not.
TEST(SimulatedRun, TheMergedModelDependsOnNoThreadAndNoStop) {
  const auto rows_of = [](unsigned threads, int stop_after, const char* evaluate) {
    const Plan plan =
        read_plan({.nodes = "6",
                   .model = "quadratic:dimension=40",
                   .protocol = "dpsgd:rounds=6",
                   .network = "links:up=1kB/s,down=1kB/s,latency=20ms,stragglers=2,slowdown=5",
                   .evaluate = evaluate});
    std::vector<std::string> rows;
    const auto on_row = [&](const MetricsRow& row) { rows.push_back(to_json_line(row)); };
    SimulatedRun run(plan, threads), again(plan, threads);
    run.on_row(on_row);
    again.on_row(on_row);
    run.start();
    for (int i = 0; i < stop_after; ++i) run.step();
    const Bytes saved = state_of(run);
    ByteReader in(saved);
    EXPECT_TRUE(load_fields(again, in).ok());
    while (again.step()) continue;
    again.finish();
    rows.push_back(std::to_string(again.summary().model_digest));
    return rows;
  };
  const auto expected = rows_of(1, 0, "every=2");
  EXPECT_NE(expected.front().find("merged_loss"), std::string::npos);
  EXPECT_EQ(rows_of(3, 0, "every=2"), expected);
  for (const int steps : {5, 20, 31, 42, 53}) EXPECT_EQ(rows_of(1, steps, "every=2"), expected);
  const auto without = rows_of(1, 40, "every=2,merged=no");
  EXPECT_EQ(without.front().find("merged"), std::string::npos);
  EXPECT_EQ(without.back(), expected.back());
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
