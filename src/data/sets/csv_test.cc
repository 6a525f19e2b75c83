#include "data/sets/csv.h"

#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

constexpr std::string_view kTable = "length,kind,width\n1,b,10\n2,a,20\r\n3,\"b\",30\n\n4,a,4e1\n";

std::string fault_of(std::string_view text, std::string_view label = "kind") {
  const Result<CsvTable> table = parse_csv(text, label);
  return table.ok() ? "none" : table.error().message;
}

TEST(Csv, AColumnIsTheClassAndTheOthersAreFeatures) {
  const Result<CsvTable> table = parse_csv(kTable, "kind");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->width, 2u);
  EXPECT_EQ(table->features, (std::vector<float>{1, 10, 2, 20, 3, 30, 4, 40}));
  EXPECT_EQ(table->labels, (std::vector<std::string>{"b", "a", "b", "a"}));
}

TEST(Csv, FaultsNameLineAndColumn) {
  EXPECT_EQ(fault_of("a,kind\n1,x\n1\n"), "line 3: 1 fields, not 2");
  EXPECT_EQ(fault_of("a,kind\none,x\n"), "line 2: column 1: 'one' is not a finite number");
  EXPECT_EQ(fault_of("a,kind\nnan,x\n"), "line 2: column 1: 'nan' is not a finite number");
  EXPECT_EQ(fault_of("a,b\n"), "line 1: no column is called 'kind'");
  EXPECT_EQ(fault_of(""), "line 1: a table has a column of classes and another one");
}

TEST(Csv, AFractionIsHeldOut) {
  const TempFolder folder;
  folder.write("all.csv", kTable);
  const Result<LoadedData> data =
      load_dataset(fmt::format("csv:file={}/all.csv,label=kind,test=0.25", folder.text()));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 3u);
  EXPECT_EQ(data->test->size(), 1u);
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{1, 1, 2}));
}

TEST(Csv, TestSamplesMayHaveAFileAndClassesTheirOrder) {
  const TempFolder folder;
  folder.write("train.csv", kTable);
  folder.write("test.csv", "length,kind,width\n9,c,9\n");
  const std::string line =
      fmt::format("csv:file={0}/train.csv,label=kind,test={0}/test.csv", folder.text());
  EXPECT_FALSE(load_dataset(line).ok());  // There is no c to train on.
  const Result<LoadedData> data = load_dataset(line + ",classes=c/b/a,shape=2/1/1");
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::vector<float> x(2);
  EXPECT_EQ(data->test->get(0, x), 0);
  EXPECT_EQ(data->train->get(0, x), 1);
}

TEST(Csv, ThereMayBeNoSamplesWhereTheLineSaysTheClasses) {
  const TempFolder folder;
  folder.write("none.csv", "length,width,kind\n");
  const std::string line = fmt::format("csv:file={}/none.csv", folder.text());
  EXPECT_FALSE(load_dataset(line).ok());
  const Result<LoadedData> data = load_dataset(line + ",classes=a/b");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size() + data->test->size(), 0u);
}

TEST(Csv, WholeNumbersAreClassesInTheirOrder) {
  const TempFolder folder;
  folder.write("ten.csv", "x,y\n1,10\n1,9\n1,2\n");
  const Result<LoadedData> data = load_dataset(fmt::format("csv:file={}/ten.csv", folder.text()));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"2", "9", "10"}));
}

}  // namespace
}  // namespace tessera
