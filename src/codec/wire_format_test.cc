// The page that describes the wire format, held against the program: its example is what we write.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/files.h"
#include "codec/wire.h"

namespace tessera {
namespace {

// The bytes of the page's block of hex, without the remarks behind them.
Bytes example_of(const std::string& page) {
  const std::size_t start = page.find("```hex\n") + 7;
  std::istringstream lines(page.substr(start, page.find("```", start) - start));
  Bytes bytes;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;)
      bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

TEST(WireFormat, TheExampleOnThePageIsWhatWeWrite) {
  const auto page = read_text_file(TESSERA_SOURCE_DIR "/docs/wire_format.md");
  ASSERT_TRUE(page.ok()) << page.error().message;
  const Heading heading{.round = 12, .degree = 4, .age = 36};
  const Share share{
      .dimension = 20, .coordinates = Listed{{2, 3, 7, 17}}, .values = {1.0f, -2.0f, 0.5f, 3.25f}};
  const Encoded message =
      encode(heading, share, parse_codec("gamma+f32"), {.run = 90, .sender = 7}, Random(0));
  EXPECT_EQ(message.bytes, example_of(*page));
  const auto back = decode(message.bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->heading, heading);
  EXPECT_EQ(back->share, share);
}

TEST(WireFormat, ThePageListsEveryRow) {
  const auto page = read_text_file(TESSERA_SOURCE_DIR "/docs/wire_format.md");
  ASSERT_TRUE(page.ok()) << page.error().message;
  const auto lists = [&](int id, std::string_view name) {
    return page->find("| " + std::to_string(id) + " | " + std::string(name) + " |") !=
           std::string::npos;
  };
  for (const IndexCodec& codec : index_codecs())
    EXPECT_TRUE(lists(codec.wire_id, codec.name)) << codec.name;
  for (const ValueCodec& codec : value_codecs())
    EXPECT_TRUE(lists(codec.wire_id, codec.name)) << codec.name;
}

}  // namespace
}  // namespace tessera
