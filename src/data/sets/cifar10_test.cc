#include "data/sets/cifar10.h"

#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

constexpr std::size_t kRecord = 3073;

// Records whose pixels are all `label`, but for the last one, which is 200 + label.
Bytes batch(std::vector<int> labels) {
  Bytes bytes;
  for (const int label : labels) {
    bytes.resize(bytes.size() + kRecord, std::byte(label));
    bytes.back() = std::byte(200 + label);
  }
  return bytes;
}

void write_set(const TempFolder& folder) {
  for (int i = 1; i <= 5; ++i) folder.write(fmt::format("data_batch_{}.bin", i), batch({i, i + 1}));
  folder.write("test_batch.bin", batch({0, 9}));
}

TEST(Cifar10, KeepsRecordsInTheOrderOfTheFiles) {
  const TempFolder folder;
  write_set(folder);
  const Result<LoadedData> data = load_dataset("cifar10:records=2,scale=raw,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 10u);
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{3, 32, 32}));
  std::vector<float> x(3072);
  EXPECT_EQ(data->train->get(3, x), 3);
  EXPECT_EQ(x[0], 3);
  EXPECT_EQ(x[3071], 203);
  EXPECT_EQ(data->test->get(1, x), 9);
}

TEST(Cifar10, ErrorsNameFileAndPlace) {
  const TempFolder folder;
  write_set(folder);
  const auto message = [&](const std::string& options) {
    const Result<LoadedData> data = load_dataset("cifar10:" + options + "dir=" + folder.text());
    return data.ok() ? "no error" : data.error().message.substr(folder.text().size());
  };
  EXPECT_EQ(message(""), "/data_batch_1.bin: 6146 bytes; 10000 records of 3073 bytes are 30730000");
  folder.write("data_batch_4.bin", batch({1, 10}));
  EXPECT_EQ(message("records=2,"),
            "/data_batch_4.bin: label 10 of record 1 (byte 3073) is not below 10");
  folder.write("data_batch_4.bin", ByteSpan(batch({1, 2})).first(6145));
  EXPECT_EQ(message("records=2,"),
            "/data_batch_4.bin: 6145 bytes; 2 records of 3073 bytes are 6146");
  std::filesystem::remove(folder.path() / "data_batch_4.bin");
  EXPECT_EQ(message("records=2,"), "/data_batch_4.bin: cannot open: No such file or directory");
}

// torchvision's first training image is a frog (6) and its first red pixels are 59, 43, 50.
TEST(RealData, Cifar10) {
  NEED_REAL_DATA(dir, "cifar-10-batches-bin");
  const Result<LoadedData> data = load_dataset("cifar10:scale=raw,dir=" + dir->string());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 50'000u);
  EXPECT_EQ(data->test->size(), 10'000u);
  std::vector<float> x(3072);
  EXPECT_EQ(data->train->get(0, x), 6);
  EXPECT_EQ(std::vector<float>(x.begin(), x.begin() + 3), (std::vector<float>{59, 43, 50}));
  std::vector<int> counts(10, 0);
  for (std::size_t i = 0; i < 50'000; ++i)
    ++counts[static_cast<std::size_t>(data->train->get(i, x))];
  EXPECT_EQ(counts, std::vector<int>(10, 5000));
}

}  // namespace
}  // namespace tessera
