#include "data/sets/text.h"

#include <set>

#include "data/datasets.h"
#include "data/own_data.h"
#include "data/partition.h"
#include "data/sets/leaf_sets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

// A sample as "window>next", in an alphabet of single characters.
std::string sample(const LoadedData& data, const Dataset& half, std::size_t i) {
  std::vector<float> x(data.task.features());
  const auto next = static_cast<std::size_t>(half.get(i, x));
  std::string text;
  for (const float number : x) text += data.class_names[static_cast<std::size_t>(number)];
  return text + ">" + data.class_names[next];
}

TEST(Text, WindowsAndWhatFollows) {
  const TempFolder folder;
  folder.write("a.txt", std::string_view("abcdefghij"));
  const std::string line =
      fmt::format("text:file={}/a.txt,alphabet=jihgfedcba,length=3", folder.text());
  const Result<LoadedData> data = load_dataset(line + ",test=0.4");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.kind, Task::Kind::kTokens);
  EXPECT_EQ(data->task.vocabulary, 10u);
  EXPECT_EQ(data->task.classes, 10u);
  // Six characters to train on and four to test on: no window of one has any of the other.
  ASSERT_EQ(data->train->size(), 3u);
  EXPECT_EQ(sample(*data, *data->train, 0), "abc>d");
  EXPECT_EQ(sample(*data, *data->train, 2), "cde>f");
  ASSERT_EQ(data->test->size(), 1u);
  EXPECT_EQ(sample(*data, *data->test, 0), "ghi>j");
  EXPECT_EQ(data->class_names.front(), "j");
  const Result<LoadedData> apart = load_dataset(line + ",test=0.01,step=3");
  ASSERT_EQ(apart->train->size(), 3u);
  EXPECT_EQ(sample(*apart, *apart->train, 2), "ghi>j");
}

TEST(Text, AFoldersFilesAreUsersAndTestMayLieElsewhere) {
  const TempFolder folder;
  folder.write("all/b.txt", std::string_view("bbbb"));
  folder.write("all/a.txt", std::string_view("aaa"));
  folder.write("all/short.txt", std::string_view("ab"));
  folder.write("all/not.md", std::string_view("????"));
  folder.write("test.txt", std::string_view("abab"));
  const Result<LoadedData> data = load_dataset(
      fmt::format("text:dir={0}/all,test={0}/test.txt,alphabet=ab,length=2", folder.text()));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->train_users, (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(data->test->size(), 2u);
  EXPECT_EQ(sample(*data, *data->test, 1), "ba>b");
}

TEST(Text, AlphabetsHaveTheirSizesAndNamesOfTheirOwn) {
  for (const auto& [name, size] :
       {std::pair("bytes", 256u), {"ascii", 97u}, {"shakespeare", 92u}}) {
    const std::optional<Alphabet> alphabet = named_alphabet(name);
    ASSERT_TRUE(alphabet.has_value());
    EXPECT_EQ(alphabet->size(), size);
    const std::set<std::string> names(alphabet->names().begin(), alphabet->names().end());
    EXPECT_EQ(names.size(), size) << name;
  }
  EXPECT_EQ((*named_alphabet("shakespeare")->numbers_of("d", false))[0], *shakespeare_token('d'));
  EXPECT_FALSE(Alphabet::of("a").has_value());
  EXPECT_FALSE(Alphabet::of("aba").has_value());
}

TEST(Text, OtherCharactersAreRefusedWithTheirPlaceOrLeftOut) {
  const TempFolder folder;
  folder.write("a.txt", std::string_view("ab\nb\xc3\xa9"
                                         "a"));
  const std::string file = folder.text() + "/a.txt";
  const std::string line = "text:file=" + file + ",length=2";
  const Result<LoadedData> refused = load_dataset(line + ",alphabet=ascii");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            file +
                ": line 2, byte 2: 0xc3 is not in the alphabet; alphabet=bytes has all, and "
                "unknown=skip leaves it out");
  EXPECT_EQ(load_dataset(line + ",alphabet=ascii,unknown=skip,test=0.01")->train->size(), 3u);
  EXPECT_EQ(load_dataset(line + ",test=0.01")->train->size(), 5u);
  EXPECT_THROW((void)load_dataset(line + ",alphabet=aa"), std::invalid_argument);
  EXPECT_THROW((void)load_dataset("text:length=2"), std::invalid_argument);
}

// The second node's folder has no text; a third's alphabet is another of the same size.
TEST(Text, LiesAtItsNodes) {
  const TempFolder folder;
  folder.write("0/a.txt", std::string_view("abababab"));
  std::filesystem::create_directories(folder.path() / "1");
  const std::string line = fmt::format("text:dir={}/{{node}},length=2,alphabet=", folder.text());
  const Result<LoadedData> data =
      load_own_data(choose(datasets(), "dataset", line + "ab"), 2, std::nullopt);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const Partition partition = partition_data(*data, "local", 2, Random(1));
  EXPECT_EQ(partition.train[0].size(), 4u);
  EXPECT_TRUE(partition.train[1].empty());
  const Result<LoadedData> other = load_own_data(choose(datasets(), "dataset", line + "ba"), 2, 0);
  EXPECT_NE(traits_of(*data), traits_of(*other));
}

}  // namespace
}  // namespace tessera
