#include "data/class_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/stores.h"

namespace tessera {
namespace {

// Targets 0 0 0 0 1 1 1 1 2 2 2 2.
LoadedData twelve() {
  std::vector<float> targets;
  for (int c = 0; c < 3; ++c) targets.insert(targets.end(), 4, static_cast<float>(c));
  LoadedData data{.name = "twelve", .task = {.shape = {1}, .classes = 3}};
  data.train = std::make_shared<FloatSamples>(1, targets, targets);
  return data;
}

TEST(ClassTable, CountsAndShowsAFewNodesInNumbers) {
  LoadedData data = twelve();
  data.class_names = {"cat", "dog", "hippopotamus"};
  const Partition partition{.train = {{0, 1, 2, 3}, {4, 5, 8}}};
  EXPECT_EQ(class_counts(data, partition), (ClassCounts{{4, 0, 0}, {0, 2, 1}}));
  EXPECT_EQ(show_partition(data, partition),
            "node  samples       cat      dog hippopot\n"
            "   0        4         4        .        .\n"
            "   1        3         .        2        1\n"
            "A node has 3 to 4 training samples (mean 3.5), and 1 to 2 classes (mean 1.5) of 3.\n"
            "Skew 0.50: 0 where all nodes have the same mix of classes, 1 at most.\n");
}

TEST(ClassTable, SkewIsZeroForOneMixAndTwoThirdsForAClassEachOfThree) {
  EXPECT_EQ(skew({{5, 5}, {7, 7}, {1, 1}}), 0);
  EXPECT_DOUBLE_EQ(skew({{5, 0, 0}, {0, 5, 0}, {0, 0, 5}}), 2.0 / 3);
}

TEST(ClassTable, ManyNodesAreAMapOfOneCharacterEach) {
  const LoadedData data = twelve();
  Partition partition;
  for (int i = 0; i < 200; ++i)
    partition.train.push_back(i % 2 ? Indices{0, 1, 2, 3} : Indices{4, 5, 6, 8});
  const std::string text = show_partition(data, partition);
  EXPECT_NE(text.find("       0  .#.#.#"), std::string::npos) << text;
  EXPECT_NE(text.find("       1  8.8.8."), std::string::npos) << text;
  EXPECT_NE(text.find("nodes 96 to 191\n"), std::string::npos);
  EXPECT_NE(text.find("And 8 more nodes.\n"), std::string::npos);
  std::size_t longest = 0, begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    longest = std::max(longest, end - begin);
  EXPECT_LE(longest, 110u);
}

TEST(ClassTable, ManyClassesShowTheCommonest) {
  LoadedData data = twelve();
  data.task.classes = 62;
  const std::string text = show_partition(data, {.train = {{0, 4, 8}}});
  EXPECT_NE(text.find("3 of the 62 classes are shown"), std::string::npos) << text;
}

TEST(ClassTable, RatingsShowSizesAndUsers) {
  LoadedData data = twelve();
  data.task.classes = 0;
  for (std::uint32_t i = 0; i < 12; ++i) data.train_users.push_back(i / 3);
  EXPECT_EQ(show_partition(data, {.train = {{0, 1, 2, 3}, {9, 10}}}),
            "A node has 2 to 4 training samples (mean 3.0) of 1 to 2 users (mean 1.5).\n");
}

}  // namespace
}  // namespace tessera
