// Walks the table: what must hold for every dataset, also for those to come.
#include "data/datasets.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

// The folder a file-based set reads, set to one that is not there.
std::string without_files(const DatasetKind& kind) {
  return fmt::format("{}:dir=no/such/folder,images=no/such/folder", kind.name);
}

// What a set calls the place it reads from.
std::string_view place_of(const DatasetKind& kind) {
  return kind.usage.find(":file=") == kind.usage.npos ? "dir" : "file";
}

TEST(EveryDataset, HasANameOfItsOwnAndAUsageThatParses) {
  std::set<std::string_view> names;
  for (const DatasetKind& kind : datasets()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.summary.empty()) << kind.name;
    std::string usage(kind.usage);
    if (const std::size_t empty = usage.find("=,"); empty != std::string::npos)
      usage.insert(empty + 1, "''");
    EXPECT_EQ(parse_spec(usage).name, kind.name);
  }
}

TEST(EveryDataset, RefusesAnUnknownOptionBeforeItTouchesFiles) {
  for (const DatasetKind& kind : datasets()) {
    const std::string spec =
        fmt::format("{}:{}=no/such/folder,colour=red", kind.name, place_of(kind));
    try {
      (void)load_dataset(spec);
      ADD_FAILURE() << spec;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find(kind.name), 0u) << error.what();
    }
  }
}

TEST(EveryDataset, NamesTheFolderThatIsMissing) {
  for (const DatasetKind& kind : datasets()) {
    if (kind.name == "synthetic" || place_of(kind) == "file") continue;
    std::string spec = without_files(kind);
    if (kind.name != "celeba") spec = fmt::format("{}:dir=no/such/folder", kind.name);
    const Result<LoadedData> data = load_dataset(spec);
    ASSERT_FALSE(data.ok()) << spec;
    EXPECT_EQ(data.error().message.find("no/such/folder"), 0u) << data.error().message;
    EXPECT_NE(data.error().message.find("there is no such folder"), std::string::npos);
  }
}

TEST(EveryDataset, NamesTheFileThatIsMissing) {
  for (const DatasetKind& kind : datasets()) {
    if (place_of(kind) != "file") continue;
    const Result<LoadedData> data = load_dataset(fmt::format("{}:file=no/such/file", kind.name));
    ASSERT_FALSE(data.ok()) << kind.name;
    EXPECT_EQ(data.error().message.find("no/such/file"), 0u) << data.error().message;
  }
}

TEST(LoadDataset, AnUnknownNameThrowsWithTheNearest) {
  try {
    (void)load_dataset("cifar-10");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "there is no dataset 'cifar-10'. Did you mean 'cifar10'?");
  }
}

TEST(LoadDataset, LimitsThinBothHalvesAndTheirUsers) {
  const Result<LoadedData> all = load_dataset("synthetic:samples=100,test=40,users=7");
  const Result<LoadedData> few =
      load_dataset("synthetic:samples=100,test=40,users=7,limit=20,test_limit=4");
  EXPECT_EQ(few->train->size(), 20u);
  EXPECT_EQ(few->test->size(), 4u);
  ASSERT_EQ(few->train_users.size(), 20u);
  ASSERT_EQ(few->test_users.size(), 4u);
  std::vector<float> x(few->task.features()), y(few->task.features());
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(few->train->get(i, x), all->train->get(5 * i, y));
    EXPECT_EQ(x, y);
    EXPECT_EQ(few->train_users[i], all->train_users[5 * i]);
  }
  EXPECT_EQ(load_dataset("synthetic:samples=100,test=40,limit=1000")->train->size(), 100u);
}

}  // namespace
}  // namespace tessera
