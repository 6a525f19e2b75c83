// Whole worlds with hostile nodes.
#include "sim/liars.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "node/divergence.h"
#include "run/toy_world.h"

namespace tessera {
namespace {

TEST(HostileNodes, AreNamedOrDrawn) {
  const auto hostile = [](const char* text) {
    const Faults faults = make_faults(text, 8, Random(1));
    return std::vector<NodeId>(faults.hostile().begin(), faults.hostile().end());
  };
  EXPECT_EQ(hostile("hostile=n3/n1/n3"), (std::vector<NodeId>{1, 3}));
  EXPECT_EQ(hostile("hostile=3").size(), 3u);
  EXPECT_EQ(hostile("hostile=3,loss=0.1"), hostile("hostile=3"));
  EXPECT_TRUE(hostile("hostile=0").empty());
  for (const char* text : {"hostile=8", "hostile=9", "hostile=-1", "hostile=n8", "hostile=n",
                           "hostile=m2", "hostile=n1/2", "attack=alie", "hostile=2,attack=liar"})
    EXPECT_THROW((void)make_faults(text, 8, Random(1)), std::invalid_argument) << text;
}

struct Recipe {
  const char* protocol;
  const char* sharing;
  const char* topology = "ring";
};
constexpr Recipe kRecipes[] = {
    {"dpsgd:rounds=20,patience=3s", "full"},
    {"dpsgd:rounds=20,patience=3s", "jwins"},
    {"dpsgd:rounds=20,patience=3s", "random:budget=0.5"},
    {"dpsgd:rounds=20", "choco"},
    {"epidemic:rounds=20,fanout=2,patience=3s", "topk"},
    {"divshare:fanout=2,until=20s", "fragments:fraction=0.25"},
    {"divshare:fanout=2,until=20s", "jwins:pieces=3"},
    {"adpsgd:form=pairwise,until=20s", "full"},
    {"adpsgd:form=pings,fanout=2,until=20s", "full"},
    {"swift:until=20s", "full"},
};

ToyWorldOptions hostile_world(const Recipe& recipe, const AttackKind& attack) {
  ToyWorldOptions options{.nodes = 8, .dimension = 24};
  options.protocol = recipe.protocol;
  options.sharing = recipe.sharing;
  options.topology = recipe.topology;
  options.faults = fmt::format("hostile=n2/n5,attack={}", attack.usage);
  return options;
}

// Without patience one that is never in anybody's round is waited for, as a silent one is.
bool fits(const Recipe& recipe, const AttackKind& attack) {
  if (attack.flips_labels) return false;  // A toy has no labels.
  const std::string_view name = attack.name;
  return std::string_view(recipe.sharing) != "choco" || (name != "stale" && name != "future");
}

bool honest_models_are_finite(const Simulation& simulation) {
  for (NodeId id = 0; id < simulation.node_count(); ++id)
    for (const float x : simulation.node(id).model())
      if (id != 2 && id != 5 && !std::isfinite(x)) return false;
  return true;
}

// Not every protocol looks at every field of a heading.
bool changes_models(const AttackKind& attack) {
  return attack.name != "future" && attack.name != "degree" && attack.name != "age";
}

TEST(HostileNodes, WorkWithEveryProtocolAndSharing) {
  for (const Recipe& recipe : kRecipes) {
    for (const AttackKind& attack : attacks()) {
      if (!fits(recipe, attack)) continue;
      SCOPED_TRACE(fmt::format("{} {} {}", recipe.protocol, recipe.sharing, attack.name));
      ToyWorldOptions options = hostile_world(recipe, attack);
      ToyWorld world(options);
      const std::uint64_t digest = world.run();
      EXPECT_TRUE(world.simulation->finished());
      EXPECT_TRUE(world.simulation->ledger().balances());
      EXPECT_TRUE(honest_models_are_finite(*world.simulation));
      options.threads = 4;
      EXPECT_EQ(ToyWorld(options).run(), digest);
      options.faults = "none";
      if (!changes_models(attack)) continue;
      EXPECT_NE(ToyWorld(options).run(), digest);
    }
  }
}

// What is refused stops nobody and makes nobody skip a round, with patience and without. Messages
// of some arrive rounds before others are done.
TEST(HostileNodes, WhatIsRefusedStopsNobody) {
  constexpr Recipe kSynchronous[] = {
      {"dpsgd:rounds=30", "full"},
      {"dpsgd:rounds=30", "jwins"},
      {"dpsgd:rounds=30", "choco"},
      {"dpsgd:rounds=30", "topk", "regular:degree=4,redraw=yes"},
      {"dpsgd:rounds=30", "full", "exponential"},
      {"epidemic:rounds=30,fanout=3", "full"},
      {"epidemic:rounds=30,fanout=3", "fragments:fraction=0.25"},
  };
  for (const Recipe& recipe : kSynchronous) {
    for (const char* attack : {"nan", "random:sigma=1e30"}) {
      for (const char* patience : {"", ",patience=9s,patience_min=9s"}) {
        if (*patience != 0 && std::string_view(recipe.sharing) == "choco") continue;
        SCOPED_TRACE(fmt::format("{}{} {} {}", recipe.protocol, patience, recipe.sharing, attack));
        ToyWorldOptions options = hostile_world(recipe, *make_attack(attack).kind);
        options.protocol += patience;
        options.faults = fmt::format("hostile=n2/n5,attack={}", attack);
        options.compute = "lognormal:round=1s,sigma=0.3";
        ToyWorld world(options);
        (void)world.run();
        ASSERT_TRUE(world.simulation->finished());
        EXPECT_TRUE(honest_models_are_finite(*world.simulation));
        for (NodeId id = 0; id < 8; ++id) {
          const Node& node = world.simulation->node(id);
          EXPECT_EQ(node.rounds_done(), 30u) << id;
          EXPECT_EQ(node.rounds_skipped(), 0u) << id;
          EXPECT_FALSE(node.notes().contains("missed")) << id;
        }
      }
    }
  }
}

// The toy, of which one node's trainings end in no numbers.
class SpoiltFor final : public Trainer {
 public:
  SpoiltFor(Trainer& toy, NodeId node) : toy_(toy), node_(node) {}
  std::size_t dimension() const override { return toy_.dimension(); }
  Vector initial_model() const override { return toy_.initial_model(); }
  void train(std::span<TrainJob> cohort) override {
    toy_.train(cohort);
    for (TrainJob& job : cohort)
      if (job.node == node_) job.model.front() = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  Trainer& toy_;
  NodeId node_;
};

TEST(HostileNodes, MayDivergeWithoutEndingTheRun) {
  for (const Recipe& recipe : kRecipes) {
    SCOPED_TRACE(fmt::format("{} {}", recipe.protocol, recipe.sharing));
    ToyWorld world(hostile_world(recipe, *make_attack("sign_flip").kind));
    for (const NodeId spoilt : {2u, 3u}) {
      SpoiltFor trainer(world.trainer, spoilt);
      const auto simulation = make_simulation(world.plan, trainer, 1);
      simulation->start();
      const auto run = [&] {
        while (simulation->step()) continue;
      };
      if (spoilt == 3) {
        EXPECT_THROW(run(), Divergence);  // An honest one.
        continue;
      }
      run();
      EXPECT_TRUE(simulation->finished());
      EXPECT_TRUE(honest_models_are_finite(*simulation));
    }
  }
}

// A checkpoint remembers what a liar has said.
TEST(HostileNodes, AreResumedToTheSameBits) {
  for (const char* attack : {"stale", "random", "alie"}) {
    ToyWorldOptions options = hostile_world(kRecipes[0], *make_attack(attack).kind);
    ToyWorld first(options), second(options);
    first.simulation->start();
    for (int i = 0; i < 9; ++i) (void)first.simulation->step();
    Bytes saved;
    save_fields(*first.simulation, saved);
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(*second.simulation, in).ok());
    while (first.simulation->step()) continue;
    while (second.simulation->step()) continue;
    EXPECT_EQ(first.simulation->model_digest(), second.simulation->model_digest()) << attack;
  }
}

// Mean distance of the honest nodes to the optimum after 60 rounds among eight nodes, two of them
// hostile, all connected.
double honest_error(const std::string& rule, const std::string& faults) {
  ToyWorldOptions options{.topology = "full", .rule = rule, .faults = faults};
  ToyWorld world(options);
  world.run();
  double sum = 0;
  for (const NodeId id : {0u, 1u, 3u, 4u, 6u, 7u})
    sum += world.trainer.distance_to_optimum(world.simulation->node(id).model());
  return sum / 6;
}

// The mean is led away by what robust rules bear.
TEST(HostileNodes, MisleadTheMeanAndNotTheRobustRules) {
  const double honest = honest_error("auto", "none");
  for (const std::string attack : {"ipm:epsilon=20", "random:sigma=5"}) {
    const std::string faults = "hostile=n2/n5,attack=" + attack;
    const double mean = honest_error("auto", faults);
    EXPECT_GT(mean, 2 * honest) << attack;
    for (const char* rule : {"clipped:hostile=2", "trimmed:drop=2", "median", "geometric",
                             "multikrum:hostile=2", "nnm:hostile=2,then=trimmed:drop=2"})
      EXPECT_LT(honest_error(rule, faults), 0.7 * mean) << rule << " " << attack;
  }
}

}  // namespace
}  // namespace tessera
