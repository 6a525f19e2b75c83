#include "data/sets/idx_sets.h"

#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

void write_set(const TempFolder& folder, const Bytes& labels) {
  folder.write("train-images-idx3-ubyte", two_images());
  folder.write("train-labels-idx1-ubyte.gz", gzipped(labels));
  folder.write("t10k-images-idx3-ubyte.gz", gzipped(two_images()));
  folder.write("t10k-labels-idx1-ubyte", idx(8, {2}, {0, 1}));
}

TEST(IdxSet, LoadsFourFilesByAnyOfTheirNames) {
  const TempFolder folder;
  write_set(folder, idx(8, {2}, {3, 1}));
  const Result<LoadedData> data = load_dataset("idx:scale=raw,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(data->task.classes, 4u);
  std::vector<float> x(6);
  EXPECT_EQ(data->train->get(0, x), 3);
  EXPECT_EQ(x, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(data->test->get(1, x), 1);
  EXPECT_EQ(x, (std::vector<float>{10, 11, 12, 13, 14, 15}));
}

TEST(IdxSet, TransposedImagesAreTurned) {
  const TempFolder folder;
  write_set(folder, idx(8, {2}, {3, 1}));
  const Result<LoadedData> data = load_dataset("idx:scale=raw,transposed=yes,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{1, 3, 2}));
  std::vector<float> x(6);
  data->train->get(1, x);
  EXPECT_EQ(x, (std::vector<float>{10, 13, 11, 14, 12, 15}));
}

TEST(IdxSet, EmnistHasItsOwnNames) {
  const TempFolder folder;
  for (const std::string half : {"train", "test"}) {
    folder.write("emnist-letters-" + half + "-images-idx3-ubyte.gz", gzipped(two_images()));
    folder.write("emnist-letters-" + half + "-labels-idx1-ubyte.gz", gzipped(idx(8, {2}, {26, 1})));
  }
  const Result<LoadedData> data = load_dataset("emnist:split=letters,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.classes, 27u);
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{1, 3, 2}));
}

TEST(IdxSet, ErrorsNameFileAndPlace) {
  const TempFolder folder;
  const auto message = [&](const std::string& spec) {
    const Result<LoadedData> data = load_dataset(spec + folder.text());
    return data.ok() ? "no error" : data.error().message.substr(folder.text().size());
  };
  EXPECT_EQ(message("idx:dir="),
            ": there is no train-images-idx3-ubyte[.gz]; give dir= and prefix= of the four IDX "
            "files");
  write_set(folder, idx(8, {2}, {3, 12}));
  EXPECT_EQ(message("mnist:dir="),
            "/train-labels-idx1-ubyte.gz: label 12 of image 1 (byte 9) is not below 10");
  EXPECT_EQ(message("idx:classes=3,dir="),
            "/train-labels-idx1-ubyte.gz: label 3 of image 0 (byte 8) is not below 3");
  write_set(folder, idx(8, {3}, {3, 1, 1}));
  EXPECT_EQ(message("idx:dir="),
            "/train-images-idx3-ubyte: 2 images, but 3 labels in train-labels-idx1-ubyte.gz");
  write_set(folder, idx(8, {2}, {3, 1}));
  folder.write("t10k-images-idx3-ubyte.gz", gzipped(idx(8, {2, 1, 1}, {1, 1})));
  EXPECT_EQ(message("idx:dir="), ": training images are 2 x 3, test images 1 x 1");
  folder.write("t10k-images-idx3-ubyte.gz",
               gzipped(idx(8, {2, 1, 5000}, std::vector<int>(10'000))));
  EXPECT_EQ(message("idx:dir="),
            "/t10k-images-idx3-ubyte.gz: byte 8: images of 1 x 5000 pixels; at most 4096 a side");
}

// The Debian package's files; the same 60,000 labels in every class, 6,000 each.
TEST(RealData, FashionMnist) {
  const std::filesystem::path dir = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::is_directory(dir))
    GTEST_SKIP() << "needs the Debian package dataset-fashion-mnist";
  const Result<LoadedData> data = load_dataset("fashion-mnist");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 60'000u);
  EXPECT_EQ(data->test->size(), 10'000u);
  std::vector<float> x(784);
  std::vector<int> counts(10, 0);
  for (std::size_t i = 0; i < 60'000; ++i)
    ++counts[static_cast<std::size_t>(data->train->get(i, x))];
  EXPECT_EQ(counts, std::vector<int>(10, 6000));
  EXPECT_EQ(data->train->get(0, x), 9);  // An ankle boot.
}

TEST(RealData, Mnist) {
  NEED_REAL_DATA(dir, "mnist");
  const Result<LoadedData> data = load_dataset("mnist:dir=" + dir->string());
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::vector<float> x(784);
  std::vector<float> first;
  for (std::size_t i = 0; i < 5; ++i) first.push_back(data->train->get(i, x));
  EXPECT_EQ(first, (std::vector<float>{5, 0, 4, 1, 9}));
}

}  // namespace
}  // namespace tessera
