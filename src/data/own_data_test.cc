#include "data/own_data.h"

#include <gtest/gtest.h>

#include "data/test_files.h"

namespace tessera {
namespace {

Image flat(std::uint8_t level) {
  return {1, 2, 2, std::vector<std::uint8_t>(4, level)};
}

// A folder per node: node 0 has two classes, node 1 one of them, node 2 nothing.
void write_fleet(const TempFolder& folder) {
  for (int i = 0; i < 4; ++i) {
    folder.write(fmt::format("0/cat/{}.png", i), encode_png(flat(static_cast<std::uint8_t>(i))));
    folder.write(fmt::format("0/dog/{}.png", i),
                 encode_png(flat(static_cast<std::uint8_t>(10 + i))));
    folder.write(fmt::format("1/dog/{}.png", i),
                 encode_png(flat(static_cast<std::uint8_t>(20 + i))));
  }
  std::filesystem::create_directories(folder.path() / "2");
}

std::string line(const TempFolder& folder, const std::string& more = ",classes=cat/dog,size=2") {
  return fmt::format("images:dir={}/{{node}},scale=raw,channels=1,test=0.25{}", folder.text(),
                     more);
}

Result<LoadedData> load(const std::string& text, std::uint32_t nodes,
                        std::optional<NodeId> only = {}) {
  return load_own_data(choose(datasets(), "dataset", text), nodes, only);
}

std::vector<float> levels(const Dataset& data, const Indices& samples) {
  std::vector<float> seen, pixels(4);
  for (const std::uint32_t sample : samples)
    (void)data.get(sample, pixels), seen.push_back(pixels[0]);
  return seen;
}

TEST(OwnData, EachNodeHasItsFolderAndMayHaveNothing) {
  const TempFolder folder;
  write_fleet(folder);
  const Result<LoadedData> data = load(line(folder), 3);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const Partition partition = partition_data(*data, "local", 3, Random(1));
  EXPECT_EQ(partition.train[0].size(), 6u);
  EXPECT_EQ(partition.train[1].size(), 3u);
  EXPECT_TRUE(partition.train[2].empty());
  EXPECT_EQ(partition.test[0].size(), 2u);
  EXPECT_EQ(partition.test[1].size(), 1u);
  EXPECT_TRUE(partition.test[2].empty());
  for (const float level : levels(*data->train, partition.train[1])) EXPECT_GE(level, 20);
  std::vector<float> pixels(4);
  EXPECT_EQ(data->train->get(partition.train[1][0], pixels), 1);  // A dog, though it has no cats.
}

TEST(OwnData, ALiveNodeReadsItsOwnOnlyAndSeesTheSame) {
  const TempFolder folder;
  write_fleet(folder);
  const Result<LoadedData> all = load(line(folder), 3);
  ASSERT_TRUE(all.ok());
  const Partition everybody = partition_data(*all, "local", 3, Random(1));
  std::filesystem::remove_all(folder.path() / "0");
  for (const NodeId id : {1u, 2u}) {
    Result<LoadedData> own = load(line(folder), 3, id);
    ASSERT_TRUE(own.ok()) << own.error().message;
    Partition partition = partition_data(*own, "local", 3, Random(1));
    keep_own(*own, partition, id, 0);
    EXPECT_EQ(levels(*own->train, partition.train[id]), levels(*all->train, everybody.train[id]));
    EXPECT_TRUE(partition.train[0].empty());
  }
}

TEST(OwnData, ATestFolderWithoutThePlaceIsEverybodys) {
  const TempFolder folder;
  write_fleet(folder);
  folder.write("shared/cat/1.png", encode_png(flat(100)));
  folder.write("shared/dog/1.png", encode_png(flat(110)));
  std::string text = line(folder);
  text.replace(text.find("test=0.25"), 9, fmt::format("test={}/shared", folder.text()));
  const Result<LoadedData> data = load(text, 3);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->test->size(), 2u);
  const Partition partition = partition_data(*data, "local", 3, Random(1));
  EXPECT_TRUE(partition.test.empty());
  EXPECT_EQ(partition.train[0].size(), 8u);
}

TEST(OwnData, DifferentClassesAreRefusedWithBoth) {
  const TempFolder folder;
  write_fleet(folder);
  folder.write("1/bird/1.png", encode_png(flat(7)));
  folder.write("1/bird/2.png", encode_png(flat(7)));
  const Result<LoadedData> data = load(line(folder, ""), 2);
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("classes of node 0: cat/dog; of node 1: bird/dog"),
            std::string::npos)
      << data.error().message;
  const Result<LoadedData> unknown = load(line(folder), 2);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("bird: there is no such class in classes=cat/dog"),
            std::string::npos)
      << unknown.error().message;
}

TEST(OwnData, OnePlaceForSeveralNodesIsRefused) {
  EXPECT_THROW((void)load("synthetic", 2), std::invalid_argument);
  EXPECT_TRUE(load("synthetic", 1).ok());
  EXPECT_TRUE(load("synthetic", 2, 1).ok());
}

TEST(OwnData, WithoutAnImageTheSizeMustBeSaid) {
  const TempFolder folder;
  write_fleet(folder);
  const Result<LoadedData> data = load(line(folder, ",classes=cat/dog"), 3, 2);
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("there must be size="), std::string::npos)
      << data.error().message;
}

TEST(KeepOwn, LeavesTheSamplesOfOneNodeAndThoseItIsTestedOn) {
  Result<LoadedData> data = load_dataset("synthetic:samples=100,test=40,shape=1/2/2");
  ASSERT_TRUE(data.ok());
  Partition partition = partition_data(*data, "iid", 4, Random(3));
  const std::vector<float> before = levels(*data->train, partition.train[2]);
  const std::vector<float> tested = levels(*data->test, {0, 4, 8, 12, 16, 20, 24, 28, 32, 36});
  keep_own(*data, partition, 2, 10);
  EXPECT_EQ(data->train->size(), 25u);
  EXPECT_EQ(levels(*data->train, partition.train[2]), before);
  EXPECT_EQ(data->test->size(), 10u);
  EXPECT_EQ(levels(*data->test, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), tested);
}

}  // namespace
}  // namespace tessera
