#include "live/link/agreement.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string text_of(std::string_view codec, std::string_view classes) {
  Agreement agreement;
  agreement.add("codec", codec);
  agreement.add("classes", classes);
  return agreement.text();
}

TEST(Agreement, EveryKeyThatDiffersIsNamedWithBothValues) {
  EXPECT_EQ(difference(text_of("raw+f32", "a/b"), text_of("gamma+f32", "a/b")),
            "codec: here raw+f32, there gamma+f32");
  EXPECT_EQ(difference(text_of("raw+f32", "a/b"), text_of("gamma+f32", "b/a")),
            "classes: here a/b, there b/a; codec: here raw+f32, there gamma+f32");
}

TEST(Agreement, WhatOnlyOneSaysIsNothingForTheOther) {
  EXPECT_EQ(difference("model = mlp\n", ""), "model: here mlp, there nothing");
  EXPECT_EQ(difference("", "model = mlp\n"), "model: here nothing, there mlp");
}

TEST(Agreement, WhatATerminalWouldObeyIsNotShown) {
  EXPECT_EQ(without_controls("\x1b[2J\x7f\n"), "?[2J??");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "2J"),
            "\xc2?2J")
      << "the same, as one character of eight bits";
  EXPECT_EQ(without_controls("\xc3\x9b \xc2\xa0 \xe2\x82\xac"), "\xc3\x9b \xc2\xa0 \xe2\x82\xac");
}

TEST(Agreement, LongValuesAreToldFromWhereTheyPart) {
  const std::string same(500, 'x');
  const std::string told = difference(text_of("c", same + "/cat"), text_of("c", same + "/dog"));
  EXPECT_NE(told.find("/cat"), std::string::npos) << told;
  EXPECT_NE(told.find("/dog"), std::string::npos) << told;
  EXPECT_LT(told.size(), 200u);
}

// Nothing that a peer says is believed, repeated at length, or printed as it is.
TEST(Agreement, NoiseMakesAShortLine) {
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(i * 37), noise += i % 3 ? "=" : "\n";
  const std::string told = difference(text_of("c", "a/b"), noise);
  EXPECT_LT(told.size(), 2000u);
  for (const char c : told) EXPECT_FALSE(c == '\n' || c == '\x1b' || c == '\0');
  EXPECT_EQ(difference("a = b\n", "a = b\n\n"), "something that it does not tell");
}

TEST(Agreement, TheTextIsBoundedAndOfOneLineAKey) {
  Agreement agreement;
  for (int i = 0; i < 100; ++i) agreement.add("key\n", std::string(1000, 'v') + "\n");
  EXPECT_EQ(agreement.text().size(), Agreement::kBytesMax);
  EXPECT_TRUE(agreement.text().starts_with("key? = vvv"));
}

}  // namespace
}  // namespace tessera
