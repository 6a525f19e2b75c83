#include "data/formats/npy.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/test_arrays.h"

namespace tessera {
namespace {

using Floats = std::vector<float>;
using Words = std::vector<std::string>;

Floats floats_of(const Bytes& file) {
  const Result<NpyArray> array = parse_npy(file);
  EXPECT_TRUE(array.ok()) << array.error().message;
  return array.ok() ? array->floats : Floats{};
}

Words words_of(const Bytes& file) {
  const Result<Words> words = parse_npy_words(file);
  EXPECT_TRUE(words.ok()) << words.error().message;
  return words.ok() ? *words : Words{};
}

std::string fault_of(const Bytes& file) {
  const Result<NpyArray> array = parse_npy(file);
  return array.ok() ? "none" : array.error().message;
}

std::string fault_of_words(const Bytes& file) {
  const Result<Words> words = parse_npy_words(file);
  return words.ok() ? "none" : words.error().message;
}

TEST(Npy, NumbersOfEveryType) {
  const Floats expected{1, 2, 100};
  EXPECT_EQ(floats_of(npy("<f4", "(3,)", Floats{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy("<f8", "(3,)", std::vector<double>{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy("<f2", "(3,)", std::vector<std::uint16_t>{0x3c00, 0x4000, 0x5640})),
            expected);
  EXPECT_EQ(floats_of(npy("|i1", "(3,)", std::vector<std::int8_t>{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy("<i2", "(3,)", std::vector<std::int16_t>{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy("<u4", "(3,)", std::vector<std::uint32_t>{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy("<i8", "(3,)", std::vector<std::int64_t>{1, 2, 100})), expected);
  EXPECT_EQ(floats_of(npy(">i2", "(3,)", std::vector<std::uint16_t>{0x0100, 0x0200, 0x6400})),
            expected);
  EXPECT_EQ(floats_of(npy("<f2", "(3,)", std::vector<std::uint16_t>{0x8001, 0xc000, 0})),
            (Floats{-0x1p-24f, -2, 0}));
  const Result<NpyArray> bytes = parse_npy(npy("|u1", "(2, 1)", std::vector<std::uint8_t>{7, 255}));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->bytes, (std::vector<std::uint8_t>{7, 255}));
  EXPECT_EQ(bytes->extents, (std::vector<std::uint32_t>{2, 1}));
}

TEST(Npy, FortransOrderIsTurned) {
  // 0 1 2 / 3 4 5, column by column.
  const Result<NpyArray> array =
      parse_npy(npy("<f4", "(2, 3)", Floats{0, 3, 1, 4, 2, 5}, 1, "True"));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->floats, (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(array->extents, (std::vector<std::uint32_t>{2, 3}));
}

TEST(Npy, WordsAreWholeNumbersTruthsAndTexts) {
  EXPECT_EQ(words_of(npy("<i8", "(3,)", std::vector<std::int64_t>{3, -1, 0})),
            (Words{"3", "-1", "0"}));
  EXPECT_EQ(words_of(npy("|b1", "(2, 1)", std::vector<std::uint8_t>{1, 0})), (Words{"1", "0"}));
  EXPECT_EQ(words_of(npy("<f8", "(2,)", std::vector<double>{4, -2})), (Words{"4", "-2"}));
  EXPECT_EQ(words_of(npy("<U2", "(2,)", std::vector<std::uint32_t>{'n', 'o', 0xe9, 0})),
            (Words{"no", "\xc3\xa9"}));
  EXPECT_EQ(words_of(npy("|S3", "(2,)", std::vector<char>{'c', 'a', 't', 'o', 'x', 0})),
            (Words{"cat", "ox"}));
  EXPECT_EQ(fault_of_words(npy("<f4", "(2,)", Floats{1, 0.5})),
            "value 1 is neither a whole number nor a text");
  EXPECT_EQ(fault_of_words(npy("<i4", "(1, 2)", std::vector<int>{1, 2})),
            "(1, 2) values where there is one for each sample");
}

TEST(Npy, AllThreeVersionsAndNoMore) {
  for (const int version : {1, 2, 3})
    EXPECT_EQ(floats_of(npy("<f4", "(1,)", Floats{5}, version)), Floats{5}) << version;
  EXPECT_EQ(fault_of(npy("<f4", "(1,)", Floats{5}, 4)),
            "byte 6: version 4 of the format; 1 to 3 are known");
}

TEST(Npy, WhatIsNotReadIsRefusedByName) {
  const Floats one{1};
  EXPECT_NE(fault_of(npy("|O", "(1,)", one)).find("an array of objects: that is a pickle"),
            std::string::npos);
  EXPECT_NE(fault_of(npy("<c8", "(1,)", one)).find("'<c8' (complex numbers)"), std::string::npos);
  EXPECT_NE(fault_of(npy("<M8[ns]", "(1,)", one)).find("(times)"), std::string::npos);
  EXPECT_NE(fault_of(npy("<f16", "(1,)", one)).find("'<f16'"), std::string::npos);
  EXPECT_EQ(fault_of(npy("<U1", "(1,)", one)), "an array of texts where samples are numbers");
  Bytes fields = npy("<f4", "(1,)", one);
  std::string_view list = "[('a'";
  std::memcpy(fields.data() + 10 + 10, list.data(), list.size());
  EXPECT_EQ(fault_of(fields), "a structured array; save its fields as arrays of their own");
  EXPECT_EQ(fault_of({}), "byte 0: this is no .npy file, which begins with \\x93NUMPY");
  EXPECT_EQ(fault_of(npy("<f4", "(2,)", Floats{1, INFINITY})),
            "value 1 of 2 is not a finite number");
  EXPECT_EQ(fault_of(npy("<f8", "(1,)", std::vector<double>{1e300})),
            "value 0 of 1 is not a finite number");
}

TEST(Npy, ShapesThatNoFileBacksAreRefusedBeforeMemoryIsAsked) {
  const Floats one{1};
  EXPECT_EQ(fault_of(npy("<f4", "()", one)), "a single value, not an array of samples");
  EXPECT_EQ(fault_of(npy("<f4", "(4000000000, 2)", one)),
            "the header announces (4000000000, 2) values of 4 bytes, which are 32000000000, and 4 "
            "follow it");
  for (const char* shape : {"(4294967295, 4294967295, 4294967295)", "(18446744073709551615,)",
                            "(0, 18446744073709551615)"})
    EXPECT_NE(fault_of(npy("<f4", shape, one)).find("more than any file holds"), std::string::npos)
        << shape;
  for (const char* shape : {"(99999999999999999999,)", "(-1,)", "(1 2)", "(1", "1", "[1]"})
    EXPECT_NE(fault_of(npy("<f4", shape, one)).find("the header is not"), std::string::npos)
        << shape;
  EXPECT_NE(fault_of(npy("<f4", "(1,1,1,1,1,1,1,1,1)", one)).find("9 dimensions"),
            std::string::npos);
  EXPECT_EQ(fault_of(npy("<f4", "(0, 7)", Floats{})), "none");
  Bytes endless = npy("<f4", "(1,)", one, 2);
  endless[10] = std::byte{0xff};
  EXPECT_NE(fault_of(endless).find("65536 at most are read"), std::string::npos);
}

TEST(Npy, EveryTruncationIsRefusedAndNoFlippedBitBreaksAnything) {
  const Bytes file = npy("<f4", "(2, 3)", Floats{0, 1, 2, 3, 4, 5});
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse_npy(ByteSpan(file).first(size)).ok()) << size;
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes flipped = file;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    const Result<NpyArray> array = parse_npy(flipped);
    EXPECT_TRUE(!array || array->floats.size() + array->bytes.size() == 6) << bit;
    (void)parse_npy_words(flipped).ok();
  }
}

}  // namespace
}  // namespace tessera
