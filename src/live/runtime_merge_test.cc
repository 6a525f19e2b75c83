// Rings of live nodes that merge: one that is killed meanwhile changes nothing where it comes back,
// and costs accuracy where it does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "live/ring_for_tests.h"

namespace tessera {
namespace {

class LiveMerge : public LiveRing {
 protected:
  void make_merging(const std::string& protocol, const std::string& merge) {
    make(protocol);
    for (auto& node : nodes_) {
      node->merge = merge;
      node->options.gather = kPatience;
      node->options.retold = 3;
    }
  }
};

// One after the other in each of its merges, of two steps each.
TEST_F(LiveMerge, KilledInAMergeAndStartedAgainItEndsInTheSameModels) {
  constexpr const char* kProtocol = "dpsgd:rounds=12";
  constexpr const char* kMerge = "every:rounds=5,codec=gamma+q8,last=gamma+f32";
  make_merging(kProtocol, kMerge);
  run_all();
  const auto whole = digests();
  make_merging(kProtocol, kMerge);
  std::vector<std::jthread> threads;
  for (const NodeId id : {0u, 2u, 3u}) threads.push_back(start(id));
  for (const int share : {1, 2, 2}) {
    nodes_[1]->crash_at_merge_share = share;
    start(1).join();
    EXPECT_EQ(nodes_[1]->crash_at_merge_share, 0);
    EXPECT_NE(nodes_[1]->end, RunEnd::kFinished);
  }
  threads.push_back(start(1));
  threads.clear();
  EXPECT_EQ(digests(), whole);
  EXPECT_EQ(nodes_[1]->rounds, 12u);
}

// It never tells its second step: who should hear it goes on without, and all models are weighted
// means of those there were.
TEST_F(LiveMerge, OneThatIsKilledInTheMiddleCostsAccuracyAndNotTheRun) {
  constexpr const char* kProtocol = "dpsgd:rounds=6,patience=15s";
  make_merging(kProtocol, "none");
  run_all();
  Vector lowest = nodes_[0]->model, highest = lowest;
  for (const auto& node : nodes_)
    for (std::size_t i = 0; i < kDimension; ++i) {
      lowest[i] = std::min(lowest[i], node->model[i]);
      highest[i] = std::max(highest[i], node->model[i]);
    }
  make_merging(kProtocol, "end:patience=500ms");
  for (auto& node : nodes_) node->options.linger = std::chrono::milliseconds(300);
  nodes_[3]->crash_at_merge_share = 1;
  run_all();
  std::uint64_t left_out = 0;
  for (const NodeId id : {0u, 1u, 2u}) {
    const LiveNode& node = *nodes_[id];
    EXPECT_EQ(node.end, RunEnd::kFinished) << id;
    EXPECT_EQ(node.rounds, 6u) << id;
    // As wide again, since its last share of the last round may not have gone out.
    for (std::size_t i = 0; i < kDimension; ++i) {
      const float width = highest[i] - lowest[i];
      EXPECT_GE(node.model[i], lowest[i] - width) << id << " " << i;
      EXPECT_LE(node.model[i], highest[i] + width) << id << " " << i;
    }
    const auto found = node.status.notes.find("left out of a merge");
    left_out += found == node.status.notes.end() ? 0 : found->second;
  }
  EXPECT_NE(nodes_[3]->end, RunEnd::kFinished);
  EXPECT_GE(left_out, 1u);
}

// Each comes to the end in its own time, and waits there for the others.
TEST_F(LiveMerge, NodesThatWaitForNobodyEndWithOneModel) {
  make_merging("swift:rounds=20", "end");
  for (auto& node : nodes_) node->options.retold = 0;
  nodes_[2]->options.pace = std::chrono::milliseconds(10);
  run_all();
  for (const auto& node : nodes_) {
    EXPECT_EQ(node->end, RunEnd::kFinished);
    for (std::size_t i = 0; i < kDimension; ++i)
      EXPECT_NEAR(node->model[i], nodes_[0]->model[i], 1e-5);
  }
}

}  // namespace
}  // namespace tessera
