#include "data/sets/image_folder.h"

#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

// Images of one colour, `level`, so that a sample can be told.
Image flat(std::uint8_t level, std::uint32_t height = 4, std::uint32_t width = 6) {
  return {3, height, width, std::vector<std::uint8_t>(3 * height * width, level)};
}

void write_pets(const TempFolder& folder) {
  for (int i = 0; i < 10; ++i) {
    folder.write(fmt::format("cats/{}.png", i), encode_png(flat(static_cast<std::uint8_t>(i))));
    folder.write(fmt::format("dogs/{}.PNG", i),
                 encode_png(flat(static_cast<std::uint8_t>(100 + i))));
  }
}

TEST(ImageFolder, SplitsEveryClass) {
  const TempFolder folder;
  write_pets(folder);
  folder.write("cats/notes.txt", "passed over");
  const Result<LoadedData> data = load_dataset("images:test=0.3,scale=raw,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{3, 4, 6}));
  EXPECT_EQ(data->train->size(), 14u);
  EXPECT_EQ(data->test->size(), 6u);
  std::vector<float> x(72);
  int cats = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const float label = data->test->get(i, x);
    EXPECT_EQ(label, x[0] >= 100 ? 1 : 0);
    cats += label == 0;
  }
  EXPECT_EQ(cats, 3);
}

TEST(ImageFolder, TakesASplitThatIsThere) {
  const TempFolder folder;
  for (const std::string half : {"train/", "test/"})
    for (const std::string name : {"cats", "dogs"})
      folder.write(half + name + "/1.jpg", encode_jpeg(flat(half == "train/" ? 10 : 20)));
  const Result<LoadedData> data = load_dataset("images:scale=raw,channels=1,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 2u);
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{1, 4, 6}));
  std::vector<float> x(24);
  EXPECT_EQ(data->test->get(1, x), 1);
  EXPECT_NEAR(x[5], 20, 1);
}

TEST(ImageFolder, ResizesWhenAsked) {
  const TempFolder folder;
  write_pets(folder);
  folder.write("cats/big.png", encode_png(flat(9, 40, 60)));
  EXPECT_EQ(load_dataset("images:dir=" + folder.text()).error().message,
            folder.text() + "/cats/big.png: 60 x 40 pixels, not 6 x 4; resize=yes would scale it");
  const Result<LoadedData> data = load_dataset("images:resize=yes,size=8/5,dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{3, 8, 5}));
}

TEST(ImageFolder, ClassesThatAreGivenHaveTheirOrderAndMayBeMissing) {
  const TempFolder folder;
  write_pets(folder);
  const std::string line = fmt::format("images:scale=raw,dir={}", folder.text());
  const Result<LoadedData> data = load_dataset(line + ",classes=horses/dogs/cats");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"horses", "dogs", "cats"}));
  std::vector<float> x(72);
  EXPECT_EQ(data->train->get(0, x), 1);  // A dog.
  const Result<LoadedData> other = load_dataset(line + ",classes=dogs/horses");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("cats: there is no such class in classes=dogs/horses"),
            std::string::npos)
      << other.error().message;
}

TEST(ImageFolder, WithoutAnImageTheSizeMustBeSaid) {
  const TempFolder folder;
  const std::string line = fmt::format("images:dir={},classes=cats/dogs", folder.text());
  EXPECT_NE(load_dataset(line).error().message.find("there must be size="), std::string::npos);
  const Result<LoadedData> data = load_dataset(line + ",size=8");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size() + data->test->size(), 0u);
}

TEST(ImageFolder, TestImagesMayLieInAnotherFolder) {
  const TempFolder folder;
  write_pets(folder);
  const std::filesystem::path other =
      folder.path() / ".." / (folder.path().filename().string() + "_t");
  std::filesystem::create_directories(other / "cats");
  std::filesystem::create_directories(other / "dogs");
  std::filesystem::copy(folder.path() / "cats/3.png", other / "cats/3.png");
  std::filesystem::copy(folder.path() / "dogs/4.PNG", other / "dogs/4.PNG");
  const Result<LoadedData> data =
      load_dataset(fmt::format("images:scale=raw,dir={},test={}", folder.text(), other.string()));
  std::filesystem::remove_all(other);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train->size(), 20u);
  EXPECT_EQ(data->test->size(), 2u);
}

TEST(ImageFolder, ErrorsNameFolderOrFile) {
  const TempFolder folder;
  const auto message = [&] {
    const Result<LoadedData> data = load_dataset("images:dir=" + folder.text());
    return data.ok() ? "no error" : data.error().message.substr(folder.text().size());
  };
  EXPECT_EQ(message(), ": 0 sub-folders; images lie in one per class, and there are at least two");
  folder.write("cats/notes.txt", "");
  folder.write("dogs/1.png", encode_png(flat(1)));
  EXPECT_EQ(message(), "/cats: there are no .jpg, .jpeg or .png files");
  folder.write("cats/1.png", encode_png(flat(1)));
  EXPECT_EQ(message(), ": nothing is left to train on; add images");
  folder.write("dogs/2.png", encode_png(flat(1)));
  folder.write("cats/2.png", "no image");
  folder.write("cats/3.png", "no image");
  EXPECT_NE(message().find(".png: byte 0: neither a JPEG nor a PNG image"), std::string::npos);
}

TEST(ImageFolder, SlipsInTheSpecThrow) {
  for (const char* spec : {"images", "images:dir=x,size=1/2/3", "images:dir=x,size=0",
                           "images:dir=x,channels=2", "images:dir=x,test=0"})
    EXPECT_THROW((void)load_dataset(spec), std::invalid_argument) << spec;
}

}  // namespace
}  // namespace tessera
