// A ring with a truly hostile member: node 3, whose neighbours are 0 and 2.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "live/ring_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

class HostileRing : public LiveRing {
 protected:
  static constexpr NodeId kHostile = 3;

  void run_with(const std::string& attack, const std::string& rule = "auto") {
    make("dpsgd:rounds=40,patience=2s,patience_min=500ms", quick(), rule);
    nodes_[kHostile]->attack = attack;
    for (auto& node : nodes_) {
      node->options.pace = 2ms;
      node->options.linger = 300ms;
      node->options.effort.skipped_max = 0.1;
    }
    run_all();
  }
  void expect_honest_nodes_end_well() const {
    for (const NodeId id : {0u, 1u, 2u}) {
      const LiveNode& node = *nodes_[id];
      EXPECT_EQ(node.failure, "") << id;
      EXPECT_EQ(node.end, RunEnd::kFinished) << id << ": " << node.shortfall;
      EXPECT_EQ(node.rounds, 40u) << id;
      for (const float x : node.model) ASSERT_TRUE(std::isfinite(x)) << id;
      ASSERT_FALSE(node.rows.empty());
      // Untrained: 1. Without node 3, whose part of the toy nobody else knows: 0.85 at the most.
      EXPECT_LT(node.rows.back().score.loss, 0.9) << id;
    }
  }
  // How many of the hostile node's messages a node has turned away under this word.
  std::uint64_t refused(NodeId by, const std::string& word) const {
    const auto& refused = nodes_[by]->status.refused;
    const auto reason = refused.find(word);
    if (reason == refused.end() || !reason->second.contains(kHostile)) return 0;
    return reason->second.at(kHostile);
  }
};

TEST_F(HostileRing, ValuesThatAreNoNumbersAreRefusedByName) {
  run_with("nan");
  expect_honest_nodes_end_well();
  EXPECT_GT(refused(0, "not-finite"), 10u);
  EXPECT_GT(refused(2, "not-finite"), 10u);
  EXPECT_EQ(refused(1, "not-finite"), 0u);
}

TEST_F(HostileRing, HugeValuesAreRefusedByName) {
  run_with("random:sigma=1e30");
  expect_honest_nodes_end_well();
  EXPECT_GT(refused(0, "too-large"), 10u);
  EXPECT_GT(refused(2, "too-large"), 10u);
}

TEST_F(HostileRing, SharesOfRoundsToComeMoveNobody) {
  run_with("future:ahead=1000");
  expect_honest_nodes_end_well();
  for (const NodeId id : {0u, 1u, 2u}) EXPECT_LE(nodes_[id]->status.work.skipped, 4u) << id;
  EXPECT_GT(refused(0, "early") + refused(0, "stale") + refused(0, "stranger"), 10u);
}

TEST_F(HostileRing, AStaleShareStopsNobody) {
  run_with("stale");
  expect_honest_nodes_end_well();
  EXPECT_GT(refused(0, "late") + refused(0, "duplicate"), 10u);
}

TEST_F(HostileRing, LiesInTheHeadingSpoilNothing) {
  for (const char* attack : {"degree", "age"}) {
    run_with(attack);
    expect_honest_nodes_end_well();
  }
}

// Within the bound, so that they are believed: a rule bears them.
TEST_F(HostileRing, RandomValuesAreBorneByTheMedian) {
  run_with("random:sigma=20", "median");
  expect_honest_nodes_end_well();
}

}  // namespace
}  // namespace tessera
