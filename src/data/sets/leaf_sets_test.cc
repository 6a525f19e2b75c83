#include "data/sets/leaf_sets.h"

#include <set>

#include "base/files.h"
#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

std::string leaf_file(const std::string& x, const std::string& y, int samples = 1) {
  return fmt::format(R"({{"users": ["u"], "num_samples": [{}],
                          "user_data": {{"u": {{"x": [{}], "y": [{}]}}}}}})",
                     samples, x, y);
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

// 784 pixels, all `pixel`.
std::string row_of(const std::string& pixel) {
  std::string row = "[" + pixel;
  for (int i = 1; i < 784; ++i) row += "," + pixel;
  return row + "]";
}

// Writes the same file for both halves, loads it, and returns the error without the folder.
struct Attempt {
  TempFolder folder{};
  Result<LoadedData> load(const std::string& spec, const std::string& json) {
    folder.write("train/d.json", json);
    folder.write("test/d.json", json);
    return load_dataset(fmt::format("{},dir={}", spec, folder.text()));
  }
  std::string message(const std::string& spec, const std::string& json) {
    const Result<LoadedData> data = load(spec, json);
    if (data.ok()) return "no error";
    const std::string& text = data.error().message;
    return text.substr(text.starts_with(folder.text()) ? folder.text().size() : 0);
  }
};

TEST(Femnist, PixelsComeBackToTheByte) {
  Attempt attempt;
  const Result<LoadedData> data =
      attempt.load("femnist:scale=unit",
                   leaf_file(row_of("0.9450980392156862") + "," + row_of("0.004"), "61, 0", 2));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.classes, 62u);
  std::vector<float> x(784);
  EXPECT_EQ(data->train->get(0, x), 61);
  EXPECT_EQ(x[783], 241.0f / 255);
  data->train->get(1, x);
  EXPECT_EQ(x[0], 1.0f / 255);
}

TEST(Femnist, ErrorsNameUserSampleAndPixel) {
  Attempt attempt;
  EXPECT_EQ(attempt.message("femnist:limit=0", leaf_file("[1, 0]", "3")),
            "/train/d.json: user 'u', sample 0: x has 2 numbers, not 784 pixels");
  EXPECT_EQ(attempt.message("femnist:limit=0", leaf_file(row_of("1.5"), "3")),
            "/train/d.json: user 'u', sample 0, pixel 0: 1.5 is not in [0, 1]");
  for (const std::string label : {"62", "-1", "0.5"})
    EXPECT_EQ(attempt.message("femnist:limit=0", leaf_file(row_of("1"), label)),
              "/train/d.json: user 'u', sample 0: label " + label + " is not a class below 62");
}

TEST(Shakespeare, TheVocabularyHas92EntriesOfWhich90AreUsed) {
  std::set<int> tokens;
  for (int c = 0; c < 256; ++c)
    if (const auto token = shakespeare_token(static_cast<char>(c))) tokens.insert(*token);
  EXPECT_EQ(tokens.size(), 90u);
  EXPECT_EQ(*tokens.rbegin(), 91);
  // Of a doubled character the second place counts.
  EXPECT_EQ(shakespeare_token('d'), 0);
  EXPECT_EQ(shakespeare_token(' '), 13);
  EXPECT_EQ(shakespeare_token('{'), 87);
  EXPECT_EQ(shakespeare_token('}'), 89);
  EXPECT_EQ(shakespeare_token('>'), 91);
  EXPECT_EQ(shakespeare_token('~'), std::nullopt);
}

TEST(Shakespeare, ReadsWindowsAndWhatFollows) {
  Attempt attempt;
  const std::string window = "dh" + std::string(78, ' ');
  const Result<LoadedData> data =
      attempt.load("shakespeare:limit=0", leaf_file(quoted(window), quoted("l")));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.kind, Task::Kind::kTokens);
  EXPECT_EQ(data->task.vocabulary, 92u);
  std::vector<float> x(80);
  EXPECT_EQ(data->train->get(0, x), 2);
  EXPECT_EQ(x[1], 1);
  EXPECT_EQ(x[79], 13);
}

TEST(Shakespeare, ErrorsNameUserSampleAndCharacter) {
  Attempt attempt;
  const std::string window(80, ' ');
  EXPECT_EQ(attempt.message("shakespeare:limit=0", leaf_file(quoted("short"), quoted("l"))),
            "/train/d.json: user 'u', sample 0: 5 characters and 1 to follow, not 80 and 1");
  EXPECT_EQ(attempt.message("shakespeare:limit=0", leaf_file(quoted(window), quoted("~"))),
            "/train/d.json: user 'u', sample 0, character 0: byte 0x7e is not in the vocabulary");
  EXPECT_EQ(attempt.message("shakespeare:limit=0", leaf_file("[1]", "2")),
            "/train/d.json: user 'u': x and y are not texts");
}

TEST(Celeba, DecodesTheImagesOfAFolder) {
  Attempt attempt;
  attempt.folder.write("img/1.jpg", encode_jpeg(gradient(3, 84, 84)));
  attempt.folder.write("img/2.png", encode_png(gradient(3, 84, 84)));
  const std::string spec = "celeba:images=" + attempt.folder.text() + "/img";
  // The second image was converted, as the Python reference wants it.
  const Result<LoadedData> data = attempt.load(spec, leaf_file(R"("1.jpg", "2.jpg")", "1.0, 0", 2));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{3, 84, 84}));
  std::vector<float> x(3 * 84 * 84);
  EXPECT_EQ(data->test->get(0, x), 1);
  EXPECT_EQ(data->test->get(1, x), 0);
  EXPECT_EQ(x[84 * 84 + 1], 42);  // Green, the second pixel: 40 + 2.
  EXPECT_EQ(data->train_users, (std::vector<std::uint32_t>{0, 0}));
}

// As the images are distributed, 178 x 218, in the folders of LEAF's own layout.
TEST(Celeba, TheExperimentTakesImagesOfTheirOriginalSize) {
  const Result<std::string> file =
      read_text_file(TESSERA_SOURCE_DIR "/experiments/jwins/celeba.toml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::string dir = "dir=data/celeba";
  const std::size_t start = file->find("celeba:"), at = file->find(dir);
  ASSERT_NE(at, std::string::npos) << *file;
  const std::string options = file->substr(at + dir.size(), file->find('"', at) - at - dir.size());
  Attempt attempt;
  attempt.folder.write("raw/img_align_celeba/000001.jpg", encode_jpeg(gradient(3, 218, 178)));
  const Result<LoadedData> data =
      attempt.load(file->substr(start, at - start) + options.substr(options.find_first_not_of(',')),
                   leaf_file(R"("000001.jpg")", "1"));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.shape, (std::vector<std::uint32_t>{3, 84, 84}));
}

TEST(Celeba, ErrorsNameTheImage) {
  Attempt attempt;
  const std::string images = attempt.folder.text() + "/img";
  const std::string spec = "celeba:images=" + images;
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("1.jpg")", "1")),
            "/img: there is no such folder; images= names the folder of images");
  attempt.folder.write("img/small.jpg", encode_jpeg(gradient(3, 64, 80)));
  attempt.folder.write("img/broken.jpg", ByteSpan(encode_jpeg(gradient(3, 84, 84))).first(700));
  attempt.folder.write("secret.jpg", encode_jpeg(gradient(3, 84, 84)));
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("1.jpg")", "1")),
            "/train/d.json: user 'u', sample 0: " + images + "/1.jpg is missing");
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("../secret.jpg")", "1")),
            "/train/d.json: user 'u', sample 0: '../secret.jpg' is not a file's name");
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("small.jpg")", "1")),
            "/img/small.jpg: 80 x 64 pixels, not 84 x 84; resize=yes would scale it");
  EXPECT_EQ(attempt.message(spec + ",resize=yes", leaf_file(R"("small.jpg")", "1")), "no error");
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("broken.jpg")", "1")).substr(0, 40),
            "/img/broken.jpg: not a sound JPEG image:");
  EXPECT_EQ(attempt.message(spec, leaf_file(R"("small.jpg")", "2")),
            "/train/d.json: user 'u', sample 0: label 2 is not a class below 2");
}

TEST(RealData, LeafSets) {
  NEED_REAL_DATA(dir, "leaf");
  const Result<LoadedData> femnist = load_dataset("femnist:dir=" + (*dir / "femnist").string());
  ASSERT_TRUE(femnist.ok()) << femnist.error().message;
  EXPECT_EQ(femnist->train_users.size(), femnist->train->size());
  const Result<LoadedData> shakespeare =
      load_dataset("shakespeare:dir=" + (*dir / "shakespeare").string());
  ASSERT_TRUE(shakespeare.ok()) << shakespeare.error().message;
  EXPECT_GT(shakespeare->train->size(), 1000u);
}

TEST(RealData, Celeba) {
  NEED_REAL_DATA(dir, "leaf/celeba");
  NEED_REAL_DATA(images, "celeba/img");
  const Result<LoadedData> data =
      load_dataset(fmt::format("celeba:dir={},images={}", dir->string(), images->string()));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.features(), 3u * 84 * 84);
}

}  // namespace
}  // namespace tessera
