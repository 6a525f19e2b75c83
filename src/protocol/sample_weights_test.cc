// weights=samples: what nodes agree on is the mean weighted by how many samples each has.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "protocol/world_for_tests.h"
#include "topology/topology.h"

namespace tessera {
namespace {

using Samples = std::vector<std::uint32_t>;

constexpr std::uint32_t kNodes = 6;
const Samples kSamples = {10, 1000, 10, 37, 1000, 0};  // The last one has none and counts as one.

double counted(NodeId id) {
  return std::max(kSamples[id], 1u);
}

PreparedProtocol prepare(const std::string& protocol, const std::string& topology) {
  return prepare_protocol(protocol, {.nodes = kNodes,
                                     .topology = make_topology(topology, kNodes, Random(1)),
                                     .random = Random(1)});
}

// Of a coordinate over all nodes.
template <typename Value>
double weighted_mean(Value value) {
  double sum = 0, weights = 0;
  for (NodeId id = 0; id < kNodes; ++id) {
    sum += counted(id) * value(id);
    weights += counted(id);
  }
  return sum / weights;
}

// Every node pulls towards a target of its own. The weighted mean m of the models goes to that of
// the targets whatever the graph: m <- m + 0.1 (target - m), since averaging leaves it as it is.
TEST(SampleWeights, TheWeightedMeanOfTheModelsGoesToThatOfTheTargets) {
  for (const char* topology : {"ring", "line", "star", "regular:degree=3,redraw=yes"}) {
    const PreparedProtocol prepared = prepare("dpsgd:rounds=80,weights=samples", topology);
    EXPECT_TRUE(prepared.weighs_samples);
    LockStep world(kNodes, 3, "full", prepared.make, kSamples);
    for (int round = 0; round < 80; ++round) world.step();
    for (std::size_t k = 0; k < 3; ++k) {
      const double models = weighted_mean([&](NodeId id) { return world.members[id]->model()[k]; });
      const double targets = weighted_mean([&](NodeId id) { return LockStep::target(id, k); });
      EXPECT_NEAR(models, targets, 0.002) << topology;
    }
  }
}

// Two nodes, 10 samples and 1,000, and optima 7 apart: alike they meet in the middle.
TEST(SampleWeights, TwoNodesMeetWhereTheSamplesAre) {
  const auto ends = [](const std::string& protocol) {
    const PreparedProtocol prepared = prepare_protocol(
        protocol,
        {.nodes = 2, .topology = make_topology("full", 2, Random(1)), .random = Random(1)});
    LockStep world(2, 1, "full", prepared.make, {10, 1000});
    for (int round = 0; round < 80; ++round) world.step();
    return std::pair(world.members[0]->model()[0], world.members[1]->model()[0]);
  };
  const float small = LockStep::target(0, 0), large = LockStep::target(1, 0);
  EXPECT_EQ(large - small, 7);
  const auto [alike, too] = ends("dpsgd:rounds=80");
  EXPECT_NEAR((alike + too) / 2, (small + large) / 2, 0.01);
  const auto [first, second] = ends("dpsgd:rounds=80,weights=samples");
  EXPECT_NEAR((10 * first + 1000 * second) / 1010, (10 * small + 1000 * large) / 1010, 0.01);
  EXPECT_NEAR(second, large, 0.1);
  EXPECT_NEAR(first, large, 0.75);  // Half of a step of its own remains each round.
}

Bytes samples(std::uint32_t count) {
  Bytes own;
  ByteWriter(own).put(count);
  return own;
}

OneNode first_of_a_line() {
  return OneNode({.id = 0, .protocol = "dpsgd:rounds=3,weights=samples"});
}

TEST(SampleWeights, AMessageSaysHowManyAndALieGetsAnEvenPartAtMost) {
  OneNode one = first_of_a_line();
  one.starts();
  one.trains_to({1, 1});
  EXPECT_EQ(one.world.last_message().heading.own, samples(1));
  one.hears(1, {.round = 0, .degree = 1, .own = samples(0xffffffff)}, {3, 5});
  EXPECT_EQ(one.node.model(), (Vector{2, 3}));  // One neighbour: half, and no more.
  one.trains_to({0, 0});
  one.hears(1, {.round = 1, .degree = 0, .own = samples(0xffffffff)}, {8, 8});
  EXPECT_EQ(one.node.model(), (Vector{4, 4}));
}

TEST(SampleWeights, WhoDoesNotSayHowManyIsRefusedAndNotWaitedFor) {
  for (const Bytes& own : {Bytes{}, samples(0), Bytes(3), Bytes(8, std::byte{1})}) {
    OneNode one = first_of_a_line();
    one.starts();
    one.trains_to({1, 1});
    one.hears(1, {.round = 0, .degree = 1, .own = own}, {3, 5});
    EXPECT_EQ(one.refused("samples"), 1u);
    EXPECT_EQ(one.node.rounds_done(), 1u);
    EXPECT_EQ(one.node.model(), (Vector{1, 1}));
  }
  EXPECT_FALSE(Node::is_ordinary("samples"));
}

TEST(SampleWeights, ASavedNodeKnowsWhatPeersSaid) {
  OneNode one({.id = 1, .protocol = "dpsgd:rounds=3,weights=samples"});
  one.starts();
  one.trains_to({0, 0});
  one.hears(0, {.round = 0, .degree = 9, .own = samples(5)}, {9, 9});
  one.restarts();
  one.hears(2, {.round = 0, .degree = 1, .own = samples(5)}, {0, 0});
  EXPECT_EQ(one.node.model(), (Vector{3, 3}));  // Were it one sample, a tenth of it.
  EXPECT_EQ(one.node.rounds_done(), 1u);
}

TEST(SampleWeights, OffNothingIsWritten) {
  OneNode one({.id = 0, .protocol = "dpsgd:rounds=3"});
  one.starts();
  one.trains_to({1, 1});
  EXPECT_TRUE(one.world.last_message().heading.own.empty());
}

// 1 / (own degree + 1), whatever the sender's degree: with Metropolis and Hastings' weights it
// would be a tenth.
TEST(EvenWeights, CountTheReceiversPeersAlone) {
  OneNode one({.id = 1, .protocol = "dpsgd:rounds=3,weights=even"});
  one.starts();
  one.trains_to({0, 0});
  one.hears(0, {.round = 0, .degree = 9}, {6, 3});
  one.hears(2, {.round = 0, .degree = 1}, {0, 0});
  EXPECT_EQ(one.node.model(), (Vector{2, 1}));
}

std::string refusal_of(const Experiment& experiment) {
  try {
    (void)read_plan(experiment);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(SampleWeights, RefusedByNameWhereTheyDoNotFit) {
  const std::string by_samples = "dpsgd:rounds=3,weights=samples";
  for (const char* protocol : {"epidemic:weights=samples", "divshare:weights=samples",
                               "adpsgd:weights=samples", "swift:weights=samples"})
    EXPECT_NE(refusal_of({.nodes = "8", .protocol = protocol})
                  .find("nodes are weighted where both ends of an edge know its weight"),
              std::string::npos)
        << protocol;
  const auto refused = [&](Experiment experiment, std::string_view why) {
    experiment.nodes = "8";
    experiment.protocol = by_samples;
    EXPECT_NE(refusal_of(experiment).find(why), std::string::npos) << refusal_of(experiment);
  };
  refused({.sharing = "choco"}, "sharing=choco averages with weights of its own");
  refused({.rule = "median"}, "rule=median counts all peers alike");
  refused({.rule = "present"}, "rule=present counts all peers alike");
  refused({.topology = "regular:degree=3,redraw=yes", .sharing = "fragments:fraction=0.25"},
          "sharing=fragments:fraction=0.25 cuts pieces, and counts all peers alike");
  refused({.topology = "base:peers=1"}, "the topology has weights of its own");
  refused({.merge = "end"}, "merge=end is the plain mean of all models");
  refused({.rule = "gaps"}, "none");
  refused({.sharing = "jwins", .rule = "clipped"}, "none");
}

}  // namespace
}  // namespace tessera
