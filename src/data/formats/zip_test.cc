#include "data/formats/zip.h"

#include <gtest/gtest.h>

#include "data/test_arrays.h"

namespace tessera {
namespace {

Bytes content(std::string_view text) {
  const ByteSpan bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// The contents of all files, or what is wrong.
std::string read(ByteSpan archive) {
  const Result<std::vector<ZipEntry>> entries = list_zip(archive);
  if (!entries) return entries.error().message;
  std::string text;
  for (const ZipEntry& entry : *entries) {
    Bytes room;
    const Result<ByteSpan> file = open_zipped(archive, entry, room);
    if (!file) return file.error().message;
    text += entry.name + ":";
    text.append(reinterpret_cast<const char*>(file->data()), file->size());
    text += ";";
  }
  return text;
}

TEST(Zip, StoredAndDeflatedFilesComeOut) {
  const Bytes archive = zip_of({{.name = "a", .content = content("one")},
                                {.name = "b", .content = content("two two two two"), .method = 8},
                                {.name = "none"}});
  EXPECT_TRUE(is_zip(archive));
  EXPECT_EQ(read(archive), "a:one;b:two two two two;none:;");
}

TEST(Zip, ACommentMayFollow) {
  Bytes archive = zip_of({{.name = "a", .content = content("one")}});
  archive[archive.size() - 2] = std::byte{4};
  const Bytes comment = content("PK\5\6");
  archive.insert(archive.end(), comment.begin(), comment.end());
  EXPECT_EQ(read(archive), "a:one;");
}

TEST(Zip, WhatIsNotReadIsRefusedByName) {
  EXPECT_EQ(read(zip_of({{.name = "a", .content = content("one"), .flags = 1}})),
            "'a' is encrypted; save it without a password");
  EXPECT_EQ(read(zip_of({{.name = "a", .content = content("one"), .method = 14}})),
            "'a' is packed by method 14; stored and deflated are read");
  EXPECT_EQ(read(zip_of({{.name = "a", .content = content("one"), .more_bytes = 2}})),
            "'a' has 3 bytes where the directory says 5");
  EXPECT_EQ(read({}), "byte 0: the archive ends without its directory");
}

// Four megabytes of zeros deflate to four kilobytes; the directory says what comes out, at most.
TEST(Zip, ABombIsLimitedToWhatTheDirectorySays) {
  Bytes archive = zip_of({{.name = "a", .content = Bytes(4 << 20), .method = 8}});
  ASSERT_LT(archive.size(), 8192u);
  const std::uint32_t huge = 0xf0000000, small = 1000;
  const std::size_t directory = archive.size() - 22 - 47;
  std::memcpy(archive.data() + directory + 24, &small, 4);
  EXPECT_EQ(read(archive), "'a': unpacks to more than 1000 bytes");
  std::memcpy(archive.data() + directory + 24, &huge, 4);
  EXPECT_NE(read(archive).find("unpacks to 4026531840 bytes; 2147483648 are read at most"),
            std::string::npos);
}

TEST(Zip, DamageIsFound) {
  const Bytes archive = zip_of({{.name = "a", .content = content("ein zwei drei"), .method = 8},
                                {.name = "b", .content = content("four")}});
  const std::string whole = read(archive);
  for (std::size_t size = 0; size < archive.size(); ++size)
    EXPECT_NE(read(ByteSpan(archive).first(size)), whole) << size;
  std::size_t unchanged = 0;
  for (std::size_t bit = 0; bit < archive.size() * 8; ++bit) {
    Bytes flipped = archive;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    const std::string text = read(flipped);
    unchanged += text == whole;
    EXPECT_TRUE(text.find("ein") == text.npos || text.find("ein zwei drei;") != text.npos) << text;
  }
  EXPECT_LT(unchanged, archive.size() * 8);
}

}  // namespace
}  // namespace tessera
