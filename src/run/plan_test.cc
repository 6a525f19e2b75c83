#include "run/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>

#include "base/files.h"

namespace tessera {
namespace {

Experiment toy() {
  return {.nodes = "8", .model = "quadratic:dimension=30", .protocol = "dpsgd:rounds=4"};
}

std::string refusal(const std::function<void(Experiment&)>& change) {
  Experiment experiment = toy();
  change(experiment);
  try {
    (void)read_plan(experiment);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Plan, EveryLineIsRead) {
  Experiment experiment = toy();
  experiment.seed = "7";
  experiment.sharing = "topk:budget=0.5";
  experiment.network = "fifo:up=1Mbit/s,stragglers=3,slowdown=5";
  experiment.faults = "loss=0.25";
  experiment.evaluate = "every=2,samples=50";
  const Plan plan = read_plan(experiment);
  EXPECT_EQ(plan.nodes, 8u);
  EXPECT_EQ(plan.seed, 7u);
  EXPECT_EQ(plan.lesson.options.data.kind->name, "synthetic");
  EXPECT_FALSE(plan.lesson.needs_data);
  EXPECT_EQ(plan.lesson.options.test_samples, 50u);
  EXPECT_EQ(plan.topology->nodes(), 8u);
  EXPECT_EQ(plan.protocol.prepared.rounds, 4u);
  EXPECT_EQ(plan.sharing.kind->name, "topk");
  EXPECT_EQ(to_string(plan.codec), "gamma+planes");
  EXPECT_EQ(plan.evaluate.rounds, 2u);
  EXPECT_EQ(plan.evaluate.samples, 50u);
  EXPECT_EQ(plan.world->stragglers, (std::vector<NodeId>{0, 1, 2}));
  EXPECT_TRUE(read_plan(toy()).world->stragglers.empty());
  EXPECT_EQ(plan.faults.options().loss, 0.25);
  EXPECT_EQ(plan.world->compute->training_time(0, 0, Instant()), std::chrono::seconds(1));
}

// Nodes without rounds in common are tested by time. The text says so, and reads back the same.
TEST(Plan, ADefaultMayDependOnAnotherLine) {
  for (const char* protocol : {"dpsgd", "epidemic:fanout=2", "divshare:fanout=2",
                               "swift:form=scatter,fanout=2", "adpsgd:form=pings"}) {
    Experiment experiment = toy();
    experiment.protocol = protocol;
    const Plan plan = read_plan(experiment);
    EXPECT_EQ(plan.evaluate.by_time(), !plan.protocol.kind->synchronous) << protocol;
    const std::string text = to_toml(plan.experiment);
    EXPECT_NE(text.find(plan.evaluate.by_time() ? "\"every=5s\"" : "\"every=10\""), text.npos);
    const Plan again = read_plan(parse_experiment(text, "config.toml"));
    EXPECT_EQ(to_toml(again.experiment), text);
    EXPECT_EQ(again.run(), plan.run());
  }
}

TEST(Plan, LinesThatContradictEachOtherAreRefused) {
  EXPECT_EQ(refusal([](Experiment& e) { e.protocol = "divshare", e.evaluate = "every=10"; }),
            "evaluate=every=10: nodes of protocol=divshare have no rounds in common; say when in "
            "virtual time, such as every=5s");
  const std::string stays =
      "sharing=choco keeps copies of its neighbours, so they must stay the same: use "
      "protocol=dpsgd and a topology without redraw=yes";
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.protocol = "epidemic:fanout=2"; }),
            stays);
  EXPECT_EQ(refusal([](Experiment& e) {
              e.sharing = "choco", e.topology = "regular:degree=4,redraw=yes";
            }),
            stays);
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.topology = "base"; }), stays);
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.topology = "matching"; }), stays);
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.topology = "exponential"; }),
            "sharing=choco needs edges that go both ways, and those of topology=exponential do "
            "not: use another topology");
  EXPECT_EQ(refusal([](Experiment& e) { e.protocol = "swift", e.topology = "exponential"; }),
            "swift: form: graph needs edges that go both ways: use another topology");
  EXPECT_EQ(refusal([](Experiment& e) { e.protocol = "swift", e.topology = "base"; }),
            "swift: form: graph needs neighbours that stay: use a topology without redraw=yes, and "
            "not one whose rounds differ");
  EXPECT_EQ(refusal([](Experiment& e) { e.rule = "krum", e.topology = "matching"; }),
            "rule=krum judges peers by one another, and on topology=matching a node hears one in "
            "a round: use rule=clipped:radius=1, or a topology with more peers");
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.protocol = "dpsgd:patience=1s"; }),
            "sharing=choco counts on hearing every neighbour in every round, and a patience goes "
            "on without: leave one of them out");
  EXPECT_EQ(refusal([](Experiment& e) { e.sharing = "choco", e.protocol = "dpsgd:patience=none"; }),
            "(accepted)");
}

TEST(Plan, AWrongWordIsRefusedWhateverTheLine) {
  const auto wrong = [](std::string Experiment::*line) {
    return refusal([&](Experiment& experiment) { experiment.*line = "nonsense"; });
  };
  for (const ExperimentKey& key : experiment_keys())
    EXPECT_NE(wrong(key.value), "(accepted)") << key.name;
}

TEST(Plan, ALiveOneLeavesTheSimulationsLinesAside) {
  Experiment experiment = toy();
  experiment.network = "matrix:file=not_on_this_machine.csv";
  EXPECT_THROW((void)read_plan(experiment), std::invalid_argument);
  EXPECT_FALSE(read_live_plan(experiment).world.has_value());
}

TEST(Plan, OneNodeAloneNeedsNoPeers) {
  Experiment experiment = toy();
  experiment.protocol = "epidemic:fanout=7";
  experiment.network = "fifo:up=1Mbit/s,stragglers=3,slowdown=5";
  Plan plan = read_plan_alone(experiment);
  EXPECT_EQ(plan.nodes, 1u);
  set_training_steps(plan, 17, 170);
  EXPECT_EQ(plan.lesson.steps, 17);
  EXPECT_EQ(read_plan(plan.experiment).lesson.steps, 17);
}

// Five rounds of ten steps, or what `tessera train` is to make, unless the line says otherwise.
TEST(Plan, ARateThatFallsUntilTheEndKnowsTheEnd) {
  Experiment experiment = toy();
  experiment.model = "logistic";
  experiment.protocol = "dpsgd:rounds=5";
  const auto length = [](const Plan& plan) { return plan.lesson.options.training.schedule.length; };
  experiment.training = "sgd:steps=10,schedule=cosine";
  EXPECT_EQ(length(read_plan(experiment)), 50u);
  Plan alone = read_plan_alone(experiment);
  set_training_steps(alone, 20, 300);
  EXPECT_EQ(length(alone), 300u);
  experiment.training = "sgd:steps=10,schedule=cosine,length=7";
  EXPECT_EQ(length(read_plan(experiment)), 7u);
  experiment.training = "sgd:steps=10,schedule=linear,warmup=50";
  EXPECT_THROW((void)read_plan(experiment), std::invalid_argument);
  experiment.protocol = "divshare:fanout=1,until=9s";
  EXPECT_THROW((void)read_plan(experiment), std::invalid_argument);
  experiment.protocol = "divshare:fanout=1,rounds=9";
  EXPECT_EQ(length(read_plan(experiment)), 90u);
}

// A rule that judges peers by one another has nothing to judge by where they come one at a time; a
// toy has no labels.
TEST(Plan, RefusesRulesAndAttacksThatDoNotFit) {
  Experiment experiment = toy();
  experiment.topology = "ring";
  experiment.protocol = "adpsgd:form=pairwise";
  experiment.rule = "krum";
  EXPECT_THROW((void)read_plan(experiment), std::invalid_argument);
  experiment.rule = "clipped:radius=1";
  (void)read_plan(experiment);
  experiment.protocol = "adpsgd:form=pings";
  experiment.rule = "krum";
  (void)read_plan(experiment);
  experiment.faults = "hostile=1,attack=label_flip";
  EXPECT_THROW((void)read_plan(experiment), std::invalid_argument);
  experiment.faults = "hostile=1,attack=nan";
  EXPECT_EQ(read_plan(experiment).faults.hostile().size(), 1u);
}

TEST(Plan, KnowsWhatAProtocolAsksOfLinks) {
  const auto protocol = [](const char* line) {
    Experiment experiment = toy();
    experiment.protocol = line;
    return read_plan(experiment).protocol;
  };
  EXPECT_TRUE(protocol("dpsgd").prepared.waits_for_ever);
  EXPECT_FALSE(protocol("dpsgd").newest_wins());
  EXPECT_FALSE(protocol("dpsgd:patience=1s").prepared.waits_for_ever);
  // A peer that reads slowly holds up those who wait for ever, and nobody else.
  EXPECT_TRUE(protocol("dpsgd:patience=1s").newest_wins());
  EXPECT_EQ(protocol("dpsgd:patience=1s").prepared.patience, std::chrono::seconds(1));
  EXPECT_EQ(protocol("dpsgd").prepared.patience, Duration::zero());
  EXPECT_FALSE(protocol("divshare").prepared.waits_for_ever);
  EXPECT_TRUE(protocol("divshare").newest_wins());
}

// A pair that meets once in a merge has one message more to tell again.
TEST(Plan, KnowsHowManyMessagesAreToldAgain) {
  const auto retold = [](const char* protocol, const char* merge) {
    Experiment experiment = toy();
    experiment.nodes = "8";
    experiment.protocol = protocol;
    experiment.merge = merge;
    return read_plan(experiment).retold(0);
  };
  EXPECT_EQ(retold("dpsgd", "none"), 2u);
  EXPECT_EQ(retold("dpsgd", "end"), 3u);
  EXPECT_EQ(retold("dpsgd", "every:rounds=2"), 3u);
  EXPECT_EQ(retold("divshare", "none"), 0u);
  EXPECT_EQ(retold("divshare", "end"), 0u);
}

// Before there is any data: to load it may take a while.
TEST(Plan, AnswersASlipInThePartitionAtOnce) {
  EXPECT_NE(refusal([](Experiment& e) { e.partition = "shards:per_nod=2"; }).find("per_nod"),
            std::string::npos);
  EXPECT_NE(refusal([](Experiment& e) { e.partition = "dirichlet:alpha=0"; }).find("alpha"),
            std::string::npos);
  EXPECT_NE(refusal([](Experiment& e) { e.partition = "users:test=some"; }).find("test"),
            std::string::npos);
}

TEST(Plan, SaysHowFarARunIsToGo) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("tessera_planned_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto planned = [&](std::string_view text) {
    or_throw(write_file(folder / "config.toml", bytes_of(text)));
    return rounds_planned(folder);
  };
  EXPECT_EQ(planned("protocol = \"dpsgd:rounds=40\"\n"), 40u);
  EXPECT_EQ(planned("protocol = \"dpsgd\"\n"), 100u);  // The protocol's own.
  EXPECT_EQ(planned("protocol = \"divshare:until=9s\"\n"), std::nullopt);
  EXPECT_EQ(planned("protocol = \"of a version to come\"\n"), std::nullopt);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(rounds_planned(folder), std::nullopt);
}

}  // namespace
}  // namespace tessera
