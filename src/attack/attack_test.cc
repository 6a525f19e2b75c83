// What each attack makes of what it sees. Worked values marked byzfl are those of its unit tests
// (LPD-EPFL/byzfl, tests/unit_test_attacks.py): honest rows (1 2 3), (4 5 6), (7 8 9).
#include "attack/attack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

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

}  // namespace
}  // namespace tessera
