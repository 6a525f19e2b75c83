#include "data/formats/idx.h"

#include "data/test_files.h"

namespace tessera {
namespace {

TEST(Idx, ReadsPlainAndGzippedAlike) {
  for (const Bytes& file : {two_images(), gzipped(two_images())}) {
    const Result<IdxArray> array = parse_idx(file, 3);
    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_EQ(array->extents, (std::vector<std::uint32_t>{2, 2, 3}));
    EXPECT_EQ(array->values, (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}));
  }
}

TEST(Idx, EveryTruncationIsRefused) {
  const Bytes file = two_images();
  const Bytes packed = gzipped(file);
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse_idx(ByteSpan(file).first(size), 3).ok()) << size;
  for (std::size_t size = 0; size < packed.size(); ++size)
    EXPECT_FALSE(parse_idx(ByteSpan(packed).first(size), 3).ok()) << size;
}

TEST(Idx, ErrorsNameThePlace) {
  const auto message = [](const Bytes& file, unsigned dimensions) {
    const Result<IdxArray> array = parse_idx(file, dimensions);
    return array.ok() ? "no error" : array.error().message;
  };
  EXPECT_EQ(message(idx(8, {2}, {0, 1}), 3),
            "byte 0: the magic number is 0x00000801, not 0x00000803 (IDX, unsigned bytes, 3 "
            "dimensions)");
  Bytes cut = two_images();
  cut.resize(10);
  EXPECT_EQ(message(cut, 3), "byte 10: the file ends inside its 16-byte header");
  EXPECT_EQ(message(two_images(), 1),
            "byte 0: the magic number is 0x00000803, not 0x00000801 (IDX, unsigned bytes, 1 "
            "dimension)");
  EXPECT_EQ(message(idx(0x0d, {1}, {0, 0, 0, 0}), 1),
            "byte 0: the magic number is 0x00000d01, not 0x00000801 (IDX, unsigned bytes, 1 "
            "dimension)");
  EXPECT_EQ(message(idx(8, {2, 0, 3}, {}), 3), "byte 8: extent 1 of the array is 0");
  EXPECT_EQ(message(idx(8, {2}, {0, 1, 2}), 1),
            "the header announces 2 values, a file of 10 bytes, and it has 11");
}

// A header may claim anything; what it claims is compared with the file before a byte is allocated.
TEST(Idx, AbsurdClaimsAreRefused) {
  for (const Bytes& file :
       {idx(8, {1u << 31, 28, 28}, {1}), idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, {1})}) {
    EXPECT_EQ(parse_idx(file, 3).error().kind, "size");
    EXPECT_FALSE(parse_idx(gzipped(file), 3).ok());
  }
}

// The header announces 7.8 GB, which a few megabytes of gzip can keep: it is refused unpacked.
TEST(Idx, AHeaderThatAnnouncesGigabytesIsRefusedWhileItIsPacked) {
  const Bytes bomb = gzipped(idx(8, {10'000'000, 28, 28}, std::vector<int>(1 << 20)));
  const Result<IdxArray> array = parse_idx(bomb, 3);
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().message,
            "the header announces 10000000 x 28 x 28 values; a gzipped file may unpack to "
            "2147483648 bytes at most: unpack it yourself if you trust it");
}

}  // namespace
}  // namespace tessera
