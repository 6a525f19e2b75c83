// Walks the table of partitions: what must hold for each of them, at 1, 2 and many nodes.
#include "data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/datasets.h"
#include "data/partition_kinds.h"
#include "data/stores.h"
#include "data/test_files.h"
#include "data/views.h"

namespace tessera {
namespace {

// 2,003 samples of 10 classes by 50 users: no number of nodes divides it.
const LoadedData& some_data() {
  static const LoadedData data =
      *load_dataset("synthetic:samples=2003,test=500,shape=4,users=50,seed=3");
  return data;
}

// Targets 0, 0, ..., 1, 1, ...: `each` samples of each of `classes`.
LoadedData sorted_data(std::uint32_t classes, std::uint32_t each) {
  std::vector<float> targets;
  for (std::uint32_t c = 0; c < classes; ++c) targets.insert(targets.end(), each, float(c));
  LoadedData data{.name = "sorted", .task = {.shape = {1}, .classes = classes}};
  data.train = std::make_shared<FloatSamples>(1, targets, targets);
  data.test = data.train;
  return data;
}

Partition deal(const LoadedData& data, std::string_view spec, std::uint32_t nodes,
               std::uint64_t seed = 1) {
  return partition_data(data, spec, nodes, Random(seed));
}

std::string why_not(const LoadedData& data, std::string_view spec, std::uint32_t nodes) {
  try {
    deal(data, spec, nodes);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

// All but `file`, which needs one, and `local`, which needs data that is somebody's.
std::vector<PartitionKind> worked_out_partitions() {
  std::vector<PartitionKind> kinds;
  for (const PartitionKind& kind : partitions())
    if (kind.name != "file" && !kind.own_data) kinds.push_back(kind);
  return kinds;
}

TEST(EveryPartition, GivesEachNodeSamplesNobodyElseHas) {
  for (const PartitionKind& kind : worked_out_partitions())
    for (const std::uint32_t nodes : {1u, 2u, 3u, 16u, 50u}) {
      const Partition partition = deal(some_data(), kind.name, nodes);
      ASSERT_EQ(partition.train.size(), nodes);
      std::set<std::uint32_t> seen;
      for (const Indices& own : partition.train) {
        EXPECT_FALSE(own.empty()) << kind.name;
        EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
        for (const std::uint32_t i : own) {
          EXPECT_LT(i, some_data().train->size());
          EXPECT_TRUE(seen.insert(i).second) << kind.name << " gives " << i << " twice";
        }
      }
      // Shards leave over what does not divide: fewer samples than there are windows, and nodes.
      const std::size_t least = kind.name == "shards" ? 2003 - 3 * nodes : 2003;
      EXPECT_GE(seen.size(), least) << kind.name << " with " << nodes;
    }
}

TEST(EveryPartition, IsTheSameForTheSameSeedOnly) {
  for (const PartitionKind& kind : worked_out_partitions()) {
    EXPECT_EQ(deal(some_data(), kind.name, 16).train, deal(some_data(), kind.name, 16).train);
    const bool draws = kind.name != "consecutive";
    EXPECT_EQ(
        deal(some_data(), kind.name, 16, 1).train != deal(some_data(), kind.name, 16, 2).train,
        draws)
        << kind.name;
  }
}

TEST(EveryPartition, RefusesMoreNodesThanSamplesAndUnknownOptions) {
  for (const PartitionKind& kind : worked_out_partitions()) {
    EXPECT_EQ(parse_spec(kind.usage).name, kind.name);
    EXPECT_NO_THROW(deal(some_data(), kind.usage, 4)) << kind.usage;
    EXPECT_EQ(why_not(some_data(), kind.name, 2004),
              fmt::format("{}: 2004 nodes cannot share the 2003 training samples of synthetic; use "
                          "fewer nodes or more samples",
                          kind.name));
    EXPECT_THROW(deal(some_data(), fmt::format("{}:alhpa=1", kind.name), 4), std::invalid_argument);
  }
}

TEST(Iid, SizesDifferByAtMostOneAndEveryClassIsEverywhere) {
  const LoadedData data = sorted_data(10, 100);
  for (const Indices& own : deal(data, "iid", 7).train) {
    EXPECT_TRUE(own.size() == 142 || own.size() == 143);
    std::set<std::uint32_t> classes;
    for (const std::uint32_t i : own) classes.insert(i / 100);
    EXPECT_EQ(classes.size(), 10u);
  }
}

// 96 nodes and 2 shards of CIFAR-10's 50,000 images: 192 windows of 260, as in the paper.
TEST(Shards, AreWindowsOfTheLabelSortedList) {
  const LoadedData data = sorted_data(10, 5000);
  const Partition partition = deal(data, "shards:per_node=2", 96);
  double classes = 0;
  for (const Indices& own : partition.train) {
    EXPECT_EQ(own.size(), 520u);
    std::set<std::uint32_t> held;
    for (const std::uint32_t i : own) held.insert(i / 5000);
    classes += static_cast<double>(held.size()) / 96;
  }
  EXPECT_GT(classes, 1.5);
  EXPECT_LT(classes, 3);
  // The first node cuts whole runs: at most two pieces, or three where one goes around the end.
  const Indices& first = partition.train[0];
  int pieces = 1;
  for (std::size_t i = 1; i < first.size(); ++i) pieces += first[i] != first[i - 1] + 1;
  EXPECT_LE(pieces, 3);
}

TEST(Shards, AreRefusedWhenEmptyOrWithoutClasses) {
  EXPECT_EQ(why_not(sorted_data(2, 10), "shards:per_node=6", 4),
            "shards: per_node=6: the shards would be empty, as 20 training samples give each of 4 "
            "nodes only 5; use fewer nodes or a smaller per_node");
  LoadedData ratings = sorted_data(2, 10);
  ratings.task.classes = 0;
  for (const char* spec : {"shards", "dirichlet"})
    EXPECT_EQ(
        why_not(ratings, spec, 4),
        fmt::format("{}: sorted has ratings, not classes; use consecutive, users or iid", spec));
}

// Gamma(a) has mean a and variance a: over 20,000 draws the mean is within five standard errors.
TEST(Dirichlet, GammaDrawsHaveTheRightMoments) {
  for (const double shape : {0.1, 0.5, 1.0, 3.0, 50.0}) {
    Random random(5);
    const int draws = 20'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double x = std::exp(log_gamma_draw(shape, random));
      sum += x;
      squares += x * x;
    }
    const double mean = sum / draws;
    EXPECT_NEAR(mean, shape, 5 * std::sqrt(shape / draws)) << shape;
    EXPECT_NEAR(squares / draws - mean * mean, shape, 0.15 * shape) << shape;
  }
}

// Far below what a double can hold as a number, the logarithm is still one.
TEST(Dirichlet, TinyShapesStayFinite) {
  Random random(5);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(std::isfinite(log_gamma_draw(1e-6, random)));
}

// How many classes make up nine tenths of a node's samples, on average.
double classes_held(double alpha) {
  const LoadedData data = sorted_data(10, 500);
  const Partition partition = deal(data, fmt::format("dirichlet:alpha={}", alpha), 10);
  double sum = 0;
  for (const Indices& own : partition.train) {
    std::vector<double> counts(10, 0);
    for (const std::uint32_t i : own) ++counts[i / 500];
    std::sort(counts.rbegin(), counts.rend());
    double held = 0;
    for (std::size_t c = 0; held < 0.9 * static_cast<double>(own.size()); ++c, ++sum)
      held += counts[c];
  }
  return sum / 10;
}

TEST(Dirichlet, SmallerAlphaIsMoreUneven) {
  EXPECT_LT(classes_held(0.1), classes_held(1) - 1);
  EXPECT_LT(classes_held(1), classes_held(1000) - 1);
  EXPECT_GT(classes_held(1000), 8.9);
}

TEST(Dirichlet, EveryNodeGetsTheLeastAskedForOrItSaysSo) {
  const LoadedData data = sorted_data(10, 500);
  for (const Indices& own : deal(data, "dirichlet:alpha=0.3,samples_min=100", 20).train)
    EXPECT_GE(own.size(), 100u);
  EXPECT_EQ(why_not(data, "dirichlet:alpha=0.1,samples_min=260", 20),
            "dirichlet: with alpha=0.1 some of 20 nodes had fewer than 260 samples in each of 100 "
            "draws; use a larger alpha or fewer nodes, or a smaller samples_min");
  EXPECT_EQ(
      why_not(data, "dirichlet:alpha=0.1,samples_min=260,group=10", 20),
      "dirichlet: with alpha=0.1 some of the 10 nodes of a group (group=10) had fewer than 260 "
      "samples in each of 100 draws; use a larger alpha or fewer nodes, or a smaller samples_min");
}

TEST(Dirichlet, TheNameThatSamplesMinHadIsReadToo) {
  const LoadedData data = sorted_data(10, 500);
  EXPECT_EQ(deal(data, "dirichlet:alpha=0.3,least=100", 20).train,
            deal(data, "dirichlet:alpha=0.3,samples_min=100", 20).train);
  EXPECT_EQ(why_not(data, "dirichlet:least=1,samples_min=1", 20),
            "dirichlet: least: samples_min says the same: leave least out");
}

std::set<std::uint32_t> classes_in(const Indices& own, std::uint32_t each) {
  std::set<std::uint32_t> classes;
  for (const std::uint32_t i : own) classes.insert(i / each);
  return classes;
}

// With an alpha this small a class goes to one node, which then has its even part: four classes of
// four samples make four nodes with a class each.
TEST(Dirichlet, ByHandATinyAlphaIsAClassForEachNode) {
  const LoadedData data = sorted_data(4, 4);
  std::set<std::uint32_t> seen;
  for (const Indices& own : deal(data, "dirichlet:alpha=1e-6", 4).train) {
    EXPECT_EQ(own.size(), 4u);
    EXPECT_EQ(classes_in(own, 4).size(), 1u);
    seen.insert(own[0] / 4);
  }
  EXPECT_EQ(seen.size(), 4u);
}

// Two classes of eight to four nodes in groups of two. Each group has half of the shuffled samples,
// eight: a node's even part is four, and the tiny alpha gives a class to one node. A half with five
// of one class and three of the other is five for one node, and three for the other.
TEST(Dirichlet, ByHandGroupsShareOutTheirHalves) {
  const LoadedData data = sorted_data(2, 8);
  int uneven = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Partition partition = deal(data, "dirichlet:alpha=1e-6,group=2", 4, seed);
    for (const std::size_t first : {0u, 2u}) {
      const Indices &a = partition.train[first], &b = partition.train[first + 1];
      EXPECT_EQ(a.size() + b.size(), 8u);
      if (a.size() < 4 || b.size() < 4) {
        ++uneven;
        EXPECT_EQ(classes_in(a, 8).size() + classes_in(b, 8).size(), 2u);
      }
    }
  }
  EXPECT_GT(uneven, 0);
}

// Five nodes, groups of two, sixteen samples: parts of floor(16 * 2 / 5) = 6, 6 and the other 4.
// Cut evenly that is 4, 3, 3, 3, 3, and node 0 has nothing but its group's.
TEST(Dirichlet, ByHandEvenListsAreCutFromTheJoinedOnes) {
  const LoadedData data = sorted_data(4, 4);
  const std::string spec = "dirichlet:alpha=1,group=2,samples_min=1";
  const Partition uncut = deal(data, spec, 5), even = deal(data, spec + ",even=yes", 5);
  EXPECT_EQ(uncut.train[0].size() + uncut.train[1].size(), 6u);
  EXPECT_EQ(uncut.train[2].size() + uncut.train[3].size(), 6u);
  EXPECT_EQ(uncut.train[4].size(), 4u);
  Indices group = uncut.train[0];
  group.insert(group.end(), uncut.train[1].begin(), uncut.train[1].end());
  std::set<std::uint32_t> seen;
  for (std::size_t node = 0; node < 5; ++node) {
    EXPECT_EQ(even.train[node].size(), node == 0 ? 4u : 3u);
    seen.insert(even.train[node].begin(), even.train[node].end());
  }
  EXPECT_EQ(seen.size(), 16u);
  for (const std::uint32_t i : even.train[0])
    EXPECT_EQ(std::count(group.begin(), group.end(), i), 1);
}

// RelaySGD's setting: 16 nodes in groups of ten and six, at least half of an even part before they
// are cut, and 3,125 images each after it.
TEST(Dirichlet, SixteenNodesInGroupsOfTenHaveEvenParts) {
  const LoadedData data = sorted_data(10, 5000);
  for (const char* alpha : {"1", "0.1", "0.01"}) {
    const std::string spec =
        fmt::format("dirichlet:alpha={},samples_min=1562,group=10,even=yes", alpha);
    for (const Indices& own : deal(data, spec, 16).train) EXPECT_EQ(own.size(), 3125u);
  }
}

// 610 users on 96 nodes, as in MovieLens: 34 nodes with 7 users, then 62 with 6.
TEST(Consecutive, TheFirstNodesHoldOneMore) {
  LoadedData data = sorted_data(10, 122);
  data.task.kind = Task::Kind::kRatings;
  for (std::uint32_t i = 0; i < 1220; ++i) data.train_users.push_back(i % 610);
  data.test_users = data.train_users;
  const Partition partition = deal(data, "consecutive", 96);
  std::uint32_t next = 0;
  for (std::uint32_t node = 0; node < 96; ++node) {
    std::set<std::uint32_t> users;
    for (const std::uint32_t i : partition.train[node]) users.insert(data.train_users[i]);
    EXPECT_EQ(users.size(), node < 34 ? 7u : 6u);
    EXPECT_EQ(*users.begin(), next);
    next += static_cast<std::uint32_t>(users.size());
    EXPECT_EQ(*users.rbegin(), next - 1);
  }
  // Ratings are tested on a node's own users.
  EXPECT_EQ(partition.test, partition.train);
}

TEST(Users, StayWholeAndAreDealtEvenly) {
  const LoadedData& data = some_data();
  const Partition partition = deal(data, "users:test=own", 16);
  std::vector<int> node_of(50, -1);
  for (std::uint32_t node = 0; node < 16; ++node) {
    std::set<std::uint32_t> users;
    for (const std::uint32_t i : partition.train[node]) users.insert(data.train_users[i]);
    EXPECT_TRUE(users.size() == 3 || users.size() == 4);
    for (const std::uint32_t user : users) {
      EXPECT_EQ(node_of[user], -1);
      node_of[user] = static_cast<int>(node);
    }
  }
  for (std::uint32_t node = 0; node < 16; ++node)
    for (const std::uint32_t i : partition.test[node])
      EXPECT_EQ(node_of[data.test_users[i]], static_cast<int>(node));
  EXPECT_TRUE(deal(data, "users", 16).test.empty());
}

TEST(Users, ErrorsSayWhatToChange) {
  for (const std::string kind : {"users", "consecutive"}) {
    EXPECT_EQ(why_not(sorted_data(2, 10), kind, 4),
              kind + ": the samples of sorted belong to no users; use iid, shards or dirichlet");
    EXPECT_EQ(why_not(some_data(), kind, 51),
              kind + ": 51 nodes cannot share the 50 users of synthetic; use at most 50 nodes");
    LoadedData untested = some_data();
    untested.test_users.assign(untested.test_users.size(), 0);
    EXPECT_NE(why_not(untested, kind + ":test=own", 10).find("have no test samples"),
              std::string::npos);
  }
}

TEST(SplitFile, GivesEachSampleToTheNodeOfItsLine) {
  const TempFolder folder;
  folder.write("split", "1\n0\r\n-\n 1 \n0\n-");
  const Partition partition = deal(sorted_data(2, 3), "file:path=" + folder.text() + "/split", 2);
  EXPECT_EQ(partition.train, (std::vector<Indices>{{1, 4}, {0, 3}}));
  EXPECT_TRUE(partition.test.empty());
}

TEST(SplitFile, IsRefusedWithItsLine) {
  const TempFolder folder;
  const std::string path = folder.text() + "/split";
  const std::string remedy =
      "; write a line per training sample, with the node that holds it or '-' for nobody";
  const auto refusal = [&](std::string_view text) {
    folder.write("split", text);
    return why_not(sorted_data(2, 2), "file:path=" + path, 2);
  };
  const std::string named = "file: " + path + ", line ";
  EXPECT_EQ(refusal("0\n1\nx\n1\n"), named + "3: 'x' is neither a node's number nor '-'" + remedy);
  EXPECT_EQ(refusal("0\n1\n\n1\n"), named + "3: '' is neither a node's number nor '-'" + remedy);
  EXPECT_EQ(refusal("0\n2\n0\n1\n"), named + "2: there is no node 2; the last of 2 is 1" + remedy);
  EXPECT_EQ(refusal("0\n-1\n0\n1\n"),
            named + "2: '-1' is neither a node's number nor '-'" + remedy);
  EXPECT_EQ(refusal("0\n1\n0\n"),
            named + "3: the file ends here, and there are 4 training samples" + remedy);
  EXPECT_EQ(refusal("0\n1\n0\n1\n0\n"), named + "4: there are only 4 training samples" + remedy);
  EXPECT_EQ(refusal("0\n-\n0\n0\n"), named + "4: nothing was left for node 1" + remedy);
  EXPECT_EQ(why_not(sorted_data(2, 2), "file", 2), "file: path is missing; write file:path=…");
  EXPECT_NE(why_not(sorted_data(2, 2), "file:path=" + path + "x", 2).find("splitx"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
