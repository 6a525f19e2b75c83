#include "topology/peer_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace tessera {
namespace {

TEST(SamplePeers, DistinctAndNeverOneself) {
  Random random(1);
  for (const std::uint32_t nodes : {2u, 3u, 10u, 500u})
    for (std::uint32_t count = 0; count < std::min(nodes, 12u); ++count)
      for (NodeId self = 0; self < nodes; self += 1 + nodes / 5) {
        std::vector<NodeId> peers = sample_peers(nodes, self, count, random);
        ASSERT_EQ(peers.size(), count);
        std::sort(peers.begin(), peers.end());
        EXPECT_EQ(std::adjacent_find(peers.begin(), peers.end()), peers.end());
        EXPECT_EQ(std::count(peers.begin(), peers.end(), self), 0);
        if (!peers.empty()) {
          EXPECT_LT(peers.back(), nodes);
        }
      }
}

TEST(SamplePeers, AllOthersWhenAsked) {
  Random random(2);
  std::vector<NodeId> peers = sample_peers(5, 2, 4, random);
  std::sort(peers.begin(), peers.end());
  EXPECT_EQ(peers, (std::vector<NodeId>{0, 1, 3, 4}));
  EXPECT_TRUE(sample_peers(1, 0, 0, random).empty());
}

// Six ordered pairs of the nodes other than 1 among four: 6,000 draws give each 1,000 times, with a
// deviation of 29.
TEST(SamplePeers, Uniform) {
  Random random(3);
  std::map<std::vector<NodeId>, int> counts;
  for (int i = 0; i < 6'000; ++i) ++counts[sample_peers(4, 1, 2, random)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [peers, count] : counts) EXPECT_NEAR(count, 1'000, 130);
}

TEST(SamplePeers, IsAFunctionOfTheStream) {
  Random first(4), second(4);
  EXPECT_EQ(sample_peers(60, 7, 6, first), sample_peers(60, 7, 6, second));
  Random third(5);
  EXPECT_NE(sample_peers(60, 7, 6, first), sample_peers(60, 7, 6, third));
}

TEST(SamplePeers, TooManyAreRefused) {
  Random random(1);
  try {
    (void)sample_peers(6, 0, 6, random);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "6 peers cannot be chosen among 6 nodes without oneself; use 5 at most, or more "
                 "nodes");
  }
}

}  // namespace
}  // namespace tessera
