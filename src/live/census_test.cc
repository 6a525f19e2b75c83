// Node 0 with peers 1 to 3.
#include "live/census.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

const std::vector<PeerState> kPeers = {{.id = 1}, {.id = 2}, {.id = 3}};

TEST(Census, AllAreThereOnceTheLastIsHeardOf) {
  Census census(0);
  census.saw(1);
  EXPECT_FALSE(census.complete(kPeers));
  census.hear({.there = {1, 2}}, kPeers);
  EXPECT_FALSE(census.complete(kPeers));
  census.hear({.there = {3}}, kPeers);
  EXPECT_TRUE(census.complete(kPeers));
}

TEST(Census, WhoHasBegunKnewThatAllWereThere) {
  Census census(0);
  census.hear({.begun = true}, kPeers);
  EXPECT_TRUE(census.complete(kPeers));
}

TEST(Census, IsHandedOnWhenItChangesAndToWhoHasForgotten) {
  Census census(0);
  EXPECT_EQ(census.news_for(1, false)->there, std::vector<NodeId>{0});
  EXPECT_FALSE(census.news_for(1, false));
  EXPECT_TRUE(census.news_for(1, true));
  census.hear({.there = {2}, .finished = {3}}, kPeers);
  const std::optional<CensusTold> news = census.news_for(1, false);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->there, (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(news->finished, std::vector<NodeId>{3});
  EXPECT_TRUE(census.has_finished(3));
  census.hear({.there = {2}, .finished = {3}}, kPeers);  // Nothing new.
  EXPECT_FALSE(census.news_for(1, false));
}

// Node 0 keeps links to 1 and 2 of twenty others. Three who connect to it learn something else.
TEST(Census, AFewWhoLearnSomethingElseAreNotMost) {
  std::vector<PeerState> peers;
  CensusTold all;
  for (NodeId id = 1; id <= 20; ++id) {
    peers.push_back({.id = id, .wanted = id <= 2, .disagrees = id >= 18});
    all.there.push_back(id);
  }
  Census census(0);
  EXPECT_TRUE(census.dissent(peers).of_most()) << "for all it knows";
  census.hear(all, peers);
  EXPECT_EQ(census.dissent(peers).differing, 3u);
  EXPECT_EQ(census.dissent(peers).others, 20u);
  EXPECT_FALSE(census.dissent(peers).of_most());
  for (PeerState& peer : peers) peer.disagrees = peer.id >= 10;
  EXPECT_TRUE(census.dissent(peers).of_most());
}

TEST(Census, HoldsNothingForWhoIsNoMember) {
  Census census(0);
  census.hear({.there = {1, 70, 80}, .finished = {90}}, kPeers);
  EXPECT_EQ(census.news_for(1, false)->there, (std::vector<NodeId>{0, 1}));
  EXPECT_FALSE(census.has_finished(90));
}

}  // namespace
}  // namespace tessera
