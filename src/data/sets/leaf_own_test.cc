#include "data/sets/leaf_own.h"

#include "data/datasets.h"
#include "data/own_data.h"
#include "data/partition.h"
#include "data/test_files.h"

namespace tessera {
namespace {

using Shape = std::vector<std::uint32_t>;

std::string fault_of(const std::string& line) {
  const Result<LoadedData> data = load_dataset(line);
  return data.ok() ? "none" : data.error().message;
}

std::string user(const std::string& name, const std::string& x, const std::string& y, int samples) {
  return fmt::format(R"({{"users": ["{0}"], "num_samples": [{3}],
                          "user_data": {{"{0}": {{"x": [{1}], "y": [{2}]}}}}}})",
                     name, x, y, samples);
}

TEST(LeafOwn, RowsOfNumbersAndTextsForClasses) {
  const TempFolder folder;
  folder.write("train/a.json", user("ann", "[1, 2], [3, 4]", R"("yes", "no")", 2));
  folder.write("train/b.json", user("bob", "[5.5, 6]", R"("yes")", 1));
  folder.write("test/a.json", user("bob", "[7, 8]", R"("no")", 1));
  const Result<LoadedData> data = load_dataset("leaf:dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (Shape{1, 1, 2}));
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data->train_users, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(data->test_users, (std::vector<std::uint32_t>{1}));
  std::vector<float> x(2);
  EXPECT_EQ(data->train->get(2, x), 1);
  EXPECT_EQ(x, (std::vector<float>{5.5, 6}));
}

TEST(LeafOwn, ListsOfListsAreImages) {
  const TempFolder folder;
  folder.write("train/a.json", user("a", "[[[1, 2, 3], [4, 5, 6]]]", "3", 1));
  folder.write("test/a.json", user("b", "[[[7, 8, 9], [0, 1, 2]]]", "0", 1));
  const Result<LoadedData> data =
      load_dataset(fmt::format("leaf:dir={},classes=5,channels=last", folder.text()));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (Shape{3, 1, 2}));
  std::vector<float> x(6);
  EXPECT_EQ(data->train->get(0, x), 3);
  EXPECT_EQ(x, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(fault_of("leaf:dir=" + folder.text()),
            folder.text() + "/train: samples of 1 x 2 x 3: write channels=first or channels=last");
  EXPECT_EQ(
      load_dataset(fmt::format("leaf:dir={},classes=5,shape=1/2/3", folder.text()))->task.shape,
      (Shape{1, 2, 3}));
}

TEST(LeafOwn, AFractionIsHeldOutWhereThereIsNoTestFolder) {
  const TempFolder folder;
  folder.write("a.json", user("a", "[1], [2], [3], [4]", "0, 1, 1, 0", 4));
  folder.write("test.json", user("a", "[9]", "1", 1));
  const Result<LoadedData> data = load_dataset("leaf:test=0.4,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 3u);
  EXPECT_EQ(data->test->size(), 2u);
  EXPECT_EQ(data->test_users.size(), 2u);
}

TEST(LeafOwn, FaultsNameUserAndSample) {
  const TempFolder folder;
  const std::string line = "leaf:dir=" + folder.text(), file = folder.text() + "/a.json";
  folder.write("a.json", user("a", "[1], [2]", "0, 0.5", 2));
  EXPECT_EQ(fault_of(line),
            file + ": user 'a', sample 1: y is 0.5, and classes are whole numbers or texts");
  folder.write("a.json", user("a", R"("text")", "0", 1));
  EXPECT_EQ(fault_of(line), file + ": user 'a', sample 0: x is a text, and samples are numbers");
  folder.write("a.json", user("a", "[1], [2]", "0, 1", 2));
  EXPECT_EQ(fault_of(line + ",classes=1/2"), folder.text() + ": there is no class '0' in 1/2");
  folder.write("b.json", user("b", "[[1]]", "0", 1));
  EXPECT_EQ(fault_of(line), folder.text() +
                                "/b.json: user 'b', sample 0: x has 1 x 1 numbers where others "
                                "have 1");
}

// The second node has a file without users, the third an empty folder.
TEST(LeafOwn, LiesAtItsNodes) {
  const TempFolder folder;
  folder.write("0/a.json", user("a", "[1], [2], [3]", "0, 1, 1", 3));
  folder.write("1/a.json",
               std::string_view(R"({"users": [], "num_samples": [], "user_data": {}})"));
  std::filesystem::create_directories(folder.path() / "2");
  const std::string line = fmt::format("leaf:dir={}/{{node}},classes=2", folder.text());
  const auto load = [](const std::string& text) {
    return load_own_data(choose(datasets(), "dataset", text), 3, std::nullopt);
  };
  EXPECT_FALSE(load(line).ok());
  const Result<LoadedData> data = load(line + ",shape=1/1/1");
  ASSERT_TRUE(data.ok()) << data.error().message;
  const Partition partition = partition_data(*data, "local", 3, Random(1));
  EXPECT_EQ(partition.train[0].size(), 2u);
  EXPECT_TRUE(partition.train[1].empty());
  EXPECT_TRUE(partition.train[2].empty());
}

}  // namespace
}  // namespace tessera
