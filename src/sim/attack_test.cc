// Hostile nodes: what each attack makes of what it sees, and whole worlds with them. Worked values
// marked byzfl are those of its unit tests (LPD-EPFL/byzfl, tests/unit_test_attacks.py): honest
// rows (1 2 3), (4 5 6), (7 8 9).
#include "sim/attack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "run/toy_world.h"

namespace tessera {
namespace {

// Three honest nodes and a hostile one, number 3, all of them neighbours.
struct Stage {
  std::vector<Vector> models = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {0, 0, 0}};
  Neighbours neighbours{{false, false, false, true}, nullptr};

  Scene scene(NodeId to) {
    return {3, to, neighbours, [this](NodeId id) { return std::span<const float>(models[id]); }};
  }
  Vector told(std::string_view spec, NodeId to = 0) {
    return make_attack(spec).attack->model(scene(to));
  }
};

Message message_of(Vector values) {
  return {.heading = {.round = 7, .degree = 4, .age = 9},
          .share = {.dimension = static_cast<std::uint32_t>(values.size()), .values = values}};
}

Message changed(std::string_view spec, Vector values, std::uint64_t seed = 1) {
  Message message = message_of(std::move(values));
  make_attack(spec).attack->change(message, Random(seed));
  return message;
}

TEST(Attacks, ByzflWorkedValues) {
  EXPECT_EQ(Stage().told("ipm:epsilon=2"), (Vector{-8, -10, -12}));
  EXPECT_EQ(Stage().told("alie:z=1.5"), (Vector{8.5, 9.5, 10.5}));
  EXPECT_EQ(changed("sign_flip", {4, 5, 6}).share.values, (Vector{-4, -5, -6}));
}

// Node 0 averages with two honest nodes and a hostile one, each with the same weight w: honestly it
// would move by w (3 + 6), so with epsilon = 1 the attacker says 1 - 9 to keep it where it is.
TEST(Attacks, DissensusCancelsWhatHonestNeighboursDo) {
  EXPECT_EQ(Stage().told("dissensus:epsilon=1"), (Vector{-8, -7, -6}));
  EXPECT_EQ(Stage().told("dissensus:epsilon=1.5"), (Vector{-12.5, -11.5, -10.5}));
  EXPECT_TRUE(Stage().told("dissensus", 3).empty());  // One of its own.
}

// A line 0 - 1 - 2 - 3 with its end hostile: node 2 has the honest neighbour 1, with weights of a
// third both.
TEST(Attacks, NeighboursAreThoseOfTheGraph) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 3}};
  Stage stage;
  stage.neighbours = {{false, false, false, true}, std::make_shared<Graph>(4, edges)};
  EXPECT_EQ(stage.told("ipm:epsilon=1"), (Vector{-7, -8, -9}));
  EXPECT_EQ(stage.told("dissensus:epsilon=1", 2), (Vector{10, 11, 12}));
  stage.neighbours = {{false, false, true, true}, std::make_shared<Graph>(4, edges)};
  EXPECT_EQ(stage.neighbours.honest(3), (std::vector<NodeId>{0, 1}));  // For want of neighbours.
  EXPECT_EQ(stage.neighbours.hostile(1), (std::vector<NodeId>{2}));
}

TEST(Attacks, OnHeadingsLeaveTheValues) {
  const Message future = changed("future:ahead=5", {1, 2});
  EXPECT_EQ(future.heading.round, 12u);
  EXPECT_EQ(future.share.values, (Vector{1, 2}));
  std::set<std::uint64_t> degrees, ages;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    degrees.insert(changed("degree", {1}, seed).heading.degree);
    ages.insert(changed("age", {1}, seed).heading.age);
  }
  EXPECT_EQ(degrees, (std::set<std::uint64_t>{0, 1, UINT32_MAX}));
  EXPECT_EQ(ages, (std::set<std::uint64_t>{0, UINT64_MAX}));
}

// 4,000 values of deviation 3: their own is within a tenth of it.
TEST(Attacks, RandomValuesHaveTheDeviationAskedFor) {
  double squares = 0;
  for (const float value : changed("random:sigma=3", Vector(4000, 1.0f)).share.values)
    squares += double{value} * double{value};
  EXPECT_NEAR(std::sqrt(squares / 4000), 3, 0.3);
}

TEST(Attacks, RefuseWhatTheyDoNotKnow) {
  for (const char* spec : {"sing_flip", "sign_flip:z=1", "ipm:epsilon=0", "random:sigma=0",
                           "future:ahead=0", "alie:z=x", ""})
    EXPECT_THROW((void)make_attack(spec), std::invalid_argument) << spec;
  for (const AttackKind& kind : attacks()) EXPECT_NE(make_attack(kind.usage).kind, nullptr);
}

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

// Choco counts on every share, and one that is refused stops it.
bool fits(const Recipe& recipe, const AttackKind& attack) {
  if (attack.flips_labels) return false;  // A toy has no labels.
  const std::string_view name = attack.name;
  return std::string_view(recipe.sharing) != "choco" ||
         (name != "stale" && name != "future" && name != "nan");
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
