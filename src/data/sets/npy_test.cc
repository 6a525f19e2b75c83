#include "data/sets/npy.h"

#include <cstdlib>
#include <fstream>

#include "data/datasets.h"
#include "data/own_data.h"
#include "data/test_arrays.h"
#include "data/test_files.h"

namespace tessera {
namespace {

using Shape = std::vector<std::uint32_t>;
using Ints = std::vector<std::int64_t>;

// Four samples of two numbers, of classes 0 to 2.
const Bytes kX = npy("<f4", "(4, 2)", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
const Bytes kY = npy("<i8", "(4,)", Ints{2, 0, 1, 2});

std::string fault_of(const std::string& line) {
  const Result<LoadedData> data = load_dataset(line);
  return data.ok() ? "none" : data.error().message;
}

TEST(NpySet, AFileOfSamplesAndOneOfClasses) {
  const TempFolder folder;
  folder.write("x.npy", kX);
  folder.write("y.npy", kY);
  const std::string line = fmt::format("npy:file={}/x.npy", folder.text());
  const Result<LoadedData> data = load_dataset(line + ",test=0.25");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 3u);
  EXPECT_EQ(data->test->size(), 1u);
  EXPECT_EQ(data->task.shape, (Shape{1, 1, 2}));
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"0", "1", "2"}));
  folder.write("z.npy", npy("<U1", "(4,)", std::vector<std::uint32_t>{'a', 'b', 'b', 'a'}));
  const Result<LoadedData> texts = load_dataset(fmt::format(
      "{0},labels={1}/z.npy,test={1}/x.npy,test_labels={1}/z.npy", line, folder.text()));
  ASSERT_TRUE(texts.ok()) << texts.error().message;
  EXPECT_EQ(texts->train->size(), 4u);
  EXPECT_EQ(texts->class_names, (std::vector<std::string>{"a", "b"}));
  std::vector<float> x(2);
  EXPECT_EQ(texts->test->get(1, x), 1);
  EXPECT_EQ(x, (std::vector<float>{3, 4}));
}

TEST(NpzSet, ArraysHaveNamesAndTheTestHalfMayBeTwoMore) {
  const TempFolder folder;
  const Bytes more = npy("|u1", "(1, 2)", std::vector<std::uint8_t>{255, 0});
  const Bytes its = npy("<i4", "(1,)", std::vector<int>{1});
  folder.write("all.npz", zip_of({{.name = "x_train.npy", .content = kX, .method = 8},
                                  {.name = "y_train.npy", .content = kY},
                                  {.name = "x_test.npy", .content = more},
                                  {.name = "y_test.npy", .content = its, .method = 8}}));
  const std::string file = folder.text() + "/all.npz";
  const Result<LoadedData> data = load_dataset(fmt::format(
      "npz:file={},x=x_train,y=y_train,test_x=x_test,test_y=y_test,classes=10,scale=unit", file));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.classes, 10u);
  std::vector<float> x(2);
  EXPECT_EQ(data->test->get(0, x), 1);
  EXPECT_EQ(x, (std::vector<float>{1, 0}));
  EXPECT_EQ(fault_of("npz:file=" + file),
            file +
                ": x: there is no array 'x' in it; there are: x_train, y_train, x_test, y_test. "
                "Say x= and y=");
}

TEST(NpzSet, ImagesHaveTheirChannelsFirst) {
  const TempFolder folder;
  // One image of 2 x 2 pixels and 3 colours, pixel by pixel: 0 1 2, 3 4 5, 6 7 8, 9 10 11.
  std::vector<std::uint8_t> pixels(12);
  for (std::size_t i = 0; i < 12; ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const auto write = [&](const char* shape) {
    folder.write("i.npz", zip_of({{.name = "x.npy", .content = npy("|u1", shape, pixels)},
                                  {.name = "y.npy", .content = npy("<i8", "(1,)", Ints{1})}}));
  };
  const std::string line = fmt::format("npz:file={}/i.npz,classes=2", folder.text());
  write("(1, 2, 2, 3)");
  Result<LoadedData> data = load_dataset(line);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (Shape{3, 2, 2}));
  std::vector<float> x(12);
  EXPECT_EQ(data->train->get(0, x), 1);
  EXPECT_EQ(x, (std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  EXPECT_EQ(load_dataset(line + ",channels=first")->task.shape, (Shape{2, 2, 3}));
  write("(1, 3, 2, 2)");
  EXPECT_EQ(load_dataset(line)->task.shape, (Shape{3, 2, 2}));
  write("(1, 3, 4)");
  EXPECT_EQ(load_dataset(line)->task.shape, (Shape{1, 3, 4}));
  EXPECT_EQ(load_dataset(line + ",shape=3/2/2")->task.shape, (Shape{3, 2, 2}));
  write("(1, 3, 4, 1)");
  EXPECT_EQ(fault_of(line), folder.text() +
                                "/i.npz: samples of 3 x 4 x 1: write channels=first or "
                                "channels=last");
  EXPECT_EQ(load_dataset(line + ",shape=1/3/4")->task.shape, (Shape{1, 3, 4}));
}

TEST(NpzSet, FaultsNameTheFile) {
  const TempFolder folder;
  const std::string file = folder.text() + "/f.npz", line = "npz:file=" + file;
  folder.write("f.npz", std::string_view("not an archive"));
  EXPECT_EQ(fault_of(line), file + ": x: this is no .npz archive; a lone array is data=npy");
  folder.write("f.npz", zip_of({{.name = "x.npy", .content = kX},
                                {.name = "y.npy", .content = npy("<i8", "(1,)", Ints{1})}}));
  EXPECT_EQ(fault_of(line), file + ": 4 samples, and 1 classes of samples in " + file);
  folder.write("f.npz",
               zip_of({{.name = "x.npy", .content = kX}, {.name = "y.npy", .content = kY}}));
  EXPECT_EQ(fault_of(line + ",classes=2"), file + ": there is no class '2' in 0/1");
  EXPECT_EQ(fault_of(line + ",shape=1/1/3"),
            file + ": 2 numbers in a sample (1/1/2), and shape=1/1/3 has 3");
  EXPECT_THROW((void)load_dataset(line + ",classes=one"), std::invalid_argument);
  EXPECT_THROW((void)load_dataset(line + ",test_x=x,test=0.5"), std::invalid_argument);
}

// A file per node; the second has no samples.
TEST(NpzSet, LiesAtItsNodes) {
  const TempFolder folder;
  folder.write("0.npz",
               zip_of({{.name = "x.npy", .content = kX}, {.name = "y.npy", .content = kY}}));
  folder.write("1.npz", zip_of({{.name = "x.npy", .content = npy("<f4", "(0, 2)", Ints{})},
                                {.name = "y.npy", .content = npy("<i8", "(0,)", Ints{})}}));
  const std::string line = fmt::format("npz:file={}/{{node}}.npz,classes=3", folder.text());
  const Result<LoadedData> data =
      load_own_data(choose(datasets(), "dataset", line), 2, std::nullopt);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const Partition partition = partition_data(*data, "local", 2, Random(1));
  EXPECT_EQ(partition.train[0].size(), 3u);
  EXPECT_TRUE(partition.train[1].empty());
}

// The same array in every type, both orders, packed and not.
constexpr const char* kWrite = R"(
import sys
import numpy as np
folder = sys.argv[1]
x = np.arange(5 * 2 * 3).reshape(5, 2, 3)
y = np.array([0, 1, 2, 1, 0])
for kind in ("u1", "i1", "<i2", ">i2", "<i4", "<u8", "<f2", "<f4", ">f8"):
    for order in ("C", "F"):
        name = kind.replace("<", "").replace(">", "big") + order
        np.savez(f"{folder}/{name}.npz", x=np.asarray(x, dtype=kind, order=order), y=y)
        packed = x.astype(kind).copy(order)
        np.savez_compressed(f"{folder}/{name}_packed.npz", x=packed, y=y.astype(str))
np.savez(f"{folder}/objects.npz", x=np.array([{}] * 5, dtype=object), y=y)
)";

TEST(NpzSet, ReadsWhatNumPyWrites) {
  const TempFolder folder;
  std::ofstream(folder.path() / "write.py") << kWrite;
  bool written = false;
  for (const char* python : {"python3", "/usr/bin/python3"})
    written =
        written ||
        std::system(
            fmt::format("{0} {1}/write.py {1} 2>/dev/null", python, folder.text()).c_str()) == 0;
  if (!written) GTEST_SKIP() << "no Python here has numpy (Debian: python3-numpy)";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".npz") || path.ends_with("objects.npz")) continue;
    const Result<LoadedData> data = load_dataset(fmt::format("npz:file={0},test={0}", path));
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_EQ(data->task.shape, (Shape{1, 2, 3}));
    std::vector<float> x(6);
    EXPECT_EQ(data->train->get(2, x), 2) << path;
    EXPECT_EQ(x, (std::vector<float>{12, 13, 14, 15, 16, 17})) << path;
    ++files;
  }
  EXPECT_EQ(files, 36u);
  EXPECT_NE(fault_of(fmt::format("npz:file={}/objects.npz", folder.text())).find("a pickle"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
