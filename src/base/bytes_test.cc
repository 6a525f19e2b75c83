#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace tessera {
namespace {

TEST(Bytes, WhatIsWrittenIsReadBack) {
  Bytes buffer;
  ByteWriter out(buffer);
  out.put<std::uint32_t>(0x01020304);
  out.put<float>(1.5f);
  out.put<std::uint8_t>(9);
  EXPECT_EQ(buffer.size(), 9u);
  EXPECT_EQ(buffer[0], std::byte{4});  // Little-endian.
  ByteReader in(buffer);
  EXPECT_EQ(in.get<std::uint32_t>(), 0x01020304u);
  EXPECT_EQ(in.get<float>(), 1.5f);
  EXPECT_EQ(in.get<std::uint8_t>(), 9);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_FALSE(in.ran_short());
}

TEST(Bytes, ReadingPastTheEndGivesZeroAndIsRemembered) {
  const Bytes buffer(3, std::byte{0xff});
  ByteReader in(buffer);
  EXPECT_EQ(in.get<std::uint32_t>(), 0u);
  EXPECT_TRUE(in.ran_short());
  EXPECT_EQ(in.get<std::uint8_t>(),
            0);  // Once short, always short: later fields cannot be misread.
}

// XXH3_64bits of nothing, as xxhash's own documentation and every other binding give it.
TEST(Hash, IsXxh3) {
  EXPECT_EQ(hash_bytes({}), 0x2d06800538d394c2ull);
  EXPECT_NE(hash_bytes(bytes_of("a")), hash_bytes(bytes_of("b")));
}

}  // namespace
}  // namespace tessera
