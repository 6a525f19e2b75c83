#include "data/sets/leaf_halves.h"

#include "data/test_files.h"

namespace tessera {
namespace {

TEST(LeafHalves, NumbersUsersAsTheyAreMetInSortedFiles) {
  const TempFolder folder;
  const auto one = [](const std::string& user) {
    return fmt::format(R"({{"users": ["{0}"], "num_samples": [2],
                            "user_data": {{"{0}": {{"x": ["p", "q"], "y": [1, 0]}}}}}})",
                       user);
  };
  folder.write("train/b.json", one("zoe"));
  folder.write("train/a.json", one("adam"));
  folder.write("train/notes.txt", "not read");
  folder.write("test/a.json", one("zoe"));
  folder.write("test/b.json", one("eve"));
  const Result<LeafHalves> halves =
      read_leaf(folder.path(),
                [](const LeafUser& user, ByteHalf& half) { return append_labels(user, 2, half); });
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  EXPECT_EQ(halves->train.users, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(halves->test.users, (std::vector<std::uint32_t>{1, 1, 2, 2}));
  EXPECT_EQ(halves->test.targets, (std::vector<float>{1, 0, 1, 0}));
}

TEST(LeafHalves, MissingAndEmptyFoldersAreNamed) {
  const TempFolder folder;
  const auto message = [&] {
    const Result<LeafHalves> halves =
        read_leaf(folder.path(), [](const LeafUser&, ByteHalf&) { return Result<void>(); });
    return halves.ok() ? "no error" : halves.error().message.substr(folder.text().size());
  };
  EXPECT_EQ(message().substr(0, 31), "/train: there is no such folder");
  folder.write("train/notes.txt", "");
  folder.write("test/notes.txt", "");
  EXPECT_EQ(message(), "/train: there are no .json files");
  folder.write("train/a.json", R"({"users": [], "num_samples": [], "user_data": {"a": {}}})");
  EXPECT_EQ(message(), "/train: its files hold no samples");
  folder.write("train/b.json", "{");
  EXPECT_EQ(message().substr(0, 29), "/train/b.json: byte 2: not JS");
}

}  // namespace
}  // namespace tessera
