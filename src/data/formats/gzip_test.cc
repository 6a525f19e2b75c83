#include "data/formats/gzip.h"

#include <algorithm>

#include "base/random.h"
#include "data/test_files.h"

namespace tessera {
namespace {

Bytes some_bytes(std::size_t count) {
  Random random(7);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = std::byte(random.below(20));
  return bytes;
}

TEST(Gzip, UnpacksWhatWasPacked) {
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 300'000u}) {
    const Bytes plain = some_bytes(size);
    const Bytes packed = gzipped(plain);
    EXPECT_TRUE(is_gzip(packed));
    EXPECT_EQ(*gunzip(packed, size), plain);
    EXPECT_EQ(*gunzip(packed, size + 1000), plain);
    EXPECT_EQ(gunzip_first(packed, 10)->size(), std::min<std::size_t>(size, 10));
  }
  EXPECT_FALSE(is_gzip(some_bytes(100)));
}

TEST(Gzip, SeveralMembersAreOneFile) {
  Bytes packed = gzipped(bytes_of("one "));
  const Bytes second = gzipped(bytes_of("two"));
  packed.insert(packed.end(), second.begin(), second.end());
  const Bytes both = *gunzip(packed, 100);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(both.data()), both.size()), "one two");
}

TEST(Gzip, EveryTruncationIsRefusedAtItsEnd) {
  const Bytes packed = gzipped(some_bytes(500));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const Result<Bytes> out = gunzip(ByteSpan(packed).first(size), 10'000);
    ASSERT_FALSE(out.ok()) << size;
    EXPECT_EQ(out.error().kind, "truncated");
    EXPECT_NE(out.error().message.find(fmt::format("byte {}:", size)), std::string::npos);
  }
}

// Flipped bits of the body are refused, or lie in the padding and change nothing.
TEST(Gzip, NoFlippedBitGivesOtherBytes) {
  const Bytes plain = some_bytes(200);
  const Bytes packed = gzipped(plain);
  std::size_t refused = 0;
  for (std::size_t bit = 10 * 8; bit < packed.size() * 8; ++bit) {
    Bytes flipped = packed;
    flipped[bit / 8] ^= std::byte(1 << bit % 8);
    const Result<Bytes> out = gunzip(flipped, 10'000);
    refused += !out;
    EXPECT_TRUE(!out || *out == plain) << bit;
  }
  EXPECT_GE(refused, (packed.size() - 10) * 8 - 7);
}

TEST(Gzip, JunkBehindTheEndIsRefused) {
  Bytes packed = gzipped(some_bytes(200));
  packed.resize(packed.size() + 20, std::byte{'x'});
  EXPECT_EQ(gunzip(packed, 10'000).error().kind, "gzip");
}

// Ten million zeros pack into ten kilobytes: the limit holds, whatever the file would unpack to.
TEST(Gzip, MoreThanAllowedIsRefused) {
  const Bytes packed = gzipped(Bytes(10'000'000));
  ASSERT_LT(packed.size(), 12'000u);
  EXPECT_EQ(gunzip(packed, 9'999'999).error().kind, "size");
  EXPECT_EQ(gunzip(packed, 10'000'000)->size(), 10'000'000u);
}

}  // namespace
}  // namespace tessera
