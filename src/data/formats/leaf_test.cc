#include "data/formats/leaf.h"

#include <map>

#include "data/test_files.h"

namespace tessera {
namespace {

// What a file holds, in one line of text; or what is wrong with it.
std::string read(std::string_view json) {
  std::string text;
  const Result<void> parsed = parse_leaf(bytes_of(json), [&](const LeafUser& user) -> Result<void> {
    text += fmt::format("{}:", user.name);
    for (const float number : user.numbers) text += fmt::format(" {}", number);
    for (const std::string& x : user.texts) text += fmt::format(" '{}'", x);
    text += " ->";
    for (const double label : user.labels) text += fmt::format(" {}", label);
    for (const std::string& y : user.label_texts) text += fmt::format(" '{}'", y);
    text += "; ";
    return {};
  });
  return parsed.ok() ? text : parsed.error().message;
}

constexpr std::string_view kNumbers =
    R"({"users": ["a", "b"], "num_samples": [2, 1],
        "user_data": {"a": {"x": [[1, 0.5], [2, -3]], "y": [7, 8]},
                      "b": {"y": [9], "x": [[4, 5]]}}})";

TEST(Leaf, ReadsNumbersAndTexts) {
  EXPECT_EQ(read(kNumbers), "a: 1 0.5 2 -3 -> 7 8; b: 4 5 -> 9; ");
  EXPECT_EQ(read(R"({"user_data": {"a": {"x": ["to be", "or"], "y": ["n", "o"]}},
                     "num_samples": [2], "users": ["a"]})"),
            "a: 'to be' 'or' -> 'n' 'o'; ");
}

TEST(Leaf, NestedListsHaveTheirExtents) {
  const std::string_view json =
      R"({"users": ["a", "b"], "num_samples": [2, 1],
          "user_data": {"a": {"x": [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 0, 0]]], "y": [0, 1]},
                        "b": {"x": [[1, 2]], "y": [1]}}})";
  std::vector<std::vector<std::uint32_t>> extents;
  std::vector<std::size_t> widths;
  const Result<void> parsed = parse_leaf(bytes_of(json), [&](const LeafUser& user) -> Result<void> {
    extents.push_back(user.extents);
    widths.push_back(user.width);
    return {};
  });
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(extents, (std::vector<std::vector<std::uint32_t>>{{2, 3}, {2}}));
  EXPECT_EQ(widths, (std::vector<std::size_t>{6, 2}));
}

TEST(Leaf, PassesOverWhatItDoesNotKnowAndUsersWithoutSamples) {
  EXPECT_EQ(read(R"({"hierarchies": [["x", {"y": [1]}], null], "note": {"users": [true]},
                     "users": ["a"], "num_samples": 1,
                     "user_data": {"none": {"x": [], "y": []},
                                   "a": {"raw": [[1], {"x": 2}, null], "x": ["i"], "y": [1]}}})"),
            "a: 'i' -> 1; ");
}

TEST(Leaf, ErrorsNameThePlace) {
  const std::map<std::string, std::string> cases = {
      {"[]", "at the top: a list where a LEAF file has none"},
      {"3", "at the top: a number where a LEAF file has none"},
      {"{}", "there are no users under 'user_data'"},
      {R"({"users": "a"})", "in 'users': a text where a LEAF file has none"},
      {R"({"users": [["a"]]})", "in 'users': a list where a LEAF file has none"},
      {R"({"user_data": [1]})", "in 'user_data': a list where a LEAF file has none"},
      {R"({"user_data": {"a": 1}})", "user 'a': a number where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": 1}}})", "user 'a', x 0: a number where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [1]}}})", "user 'a', x 0: a number where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": ["s", {}]}}})",
       "user 'a', x 1: an object where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [[[[[1]]]]]}}})",
       "user 'a', x 0: a list where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [[[1, 2], [3]]]}}})",
       "user 'a', x 0: a list of 1 where another has 2"},
      {R"({"user_data": {"a": {"x": [[[1], [2]], [[3]]]}}})",
       "user 'a', x 1: a list of 1 where another has 2"},
      {R"({"user_data": {"a": {"x": [[1, [2]]]}}})",
       "user 'a', x 0: a list where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [[[1], 2]]}}})",
       "user 'a', x 0: a number where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [[[1]], [2]]}}})",
       "user 'a', x 1: a number where a LEAF file has none"},
      {R"({"user_data": {"a": {"y": [[1]]}}})", "user 'a', y 0: a list where a LEAF file has none"},
      {R"({"user_data": {"a": {"y": [1, null]}}})",
       "user 'a', y 1: null where a LEAF file has none"},
      {R"({"user_data": {"a": {"y": [1, 1e300]}}})",
       "user 'a', y 1: a number so large where a LEAF file has none"},
      {R"({"user_data": {"a": {"x": [[1, 2], [3]]}}})", "user 'a', x 1: 1 numbers where x 0 has 2"},
      {R"({"user_data": {"a": {"x": [[]]}}})", "user 'a', x 0: 0 numbers where x 0 has 0"},
      {R"({"user_data": {"a": {"x": ["p", "q"], "y": [1]}}})", "user 'a': 2 x and 1 y"},
      {R"({"user_data": {"a": {"x": ["p", [1]], "y": [1, 1]}}})", "user 'a': texts among numbers"},
      {R"({"user_data": {"a": {"x": ["p"], "x": ["q"]}}})",
       "user 'a', x 1: a second list where a LEAF file has none"},
      {R"({"user_data": {"a": {}, "a": {}}})", "user 'a' is there twice"},
      {R"({"users": ["a"], "num_samples": [2], "user_data": {"a": {"x": ["p"], "y": [1]}}})",
       "user 'a' has 1 samples where 'num_samples' says 2"},
      {R"({"users": ["a", "b"], "num_samples": [1], "user_data": {"a": {"x": ["p"], "y": [1]}}})",
       "'users' has 2 entries and 'num_samples' 1"},
      {R"({"users": [], "num_samples": [], "user_data": {"a": {"x": ["p"], "y": [1]}}})",
       "user 'a' has samples but is not in 'users'"},
  };
  for (const auto& [json, message] : cases) EXPECT_EQ(read(json), message) << json;
}

TEST(Leaf, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size + 1 < kNumbers.size(); ++size) {
    const std::string message = read(kNumbers.substr(0, size));
    EXPECT_NE(message.find("not JSON"), std::string::npos) << size << ": " << message;
  }
}

TEST(Leaf, JunkIsNamedByItsByte) {
  EXPECT_EQ(read("{\"users\": [tru]}").substr(0, 17), "byte 15: not JSON");
  EXPECT_EQ(read("{} x").substr(0, 16), "byte 4: not JSON");
  EXPECT_EQ(read("{\"users\": [\"\xff\"]}").substr(0, 17), "byte 13: not JSON");
  EXPECT_EQ(read("{\"a\": 1e999}").substr(0, 17), "byte 11: not JSON");
}

// A hostile file may nest as deep as it is long.
TEST(Leaf, DeepNestingNeedsNoStack) {
  const std::string deep = "{\"z\": " + std::string(1'000'000, '[');
  EXPECT_NE(read(deep).find("not JSON"), std::string::npos);
}

}  // namespace
}  // namespace tessera
