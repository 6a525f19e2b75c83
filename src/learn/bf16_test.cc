#include "learn/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learn/testing.h"

namespace tessera {
namespace {

using testing::normals;

#define SKIP_WITHOUT_BF16() \
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16"

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(plain::to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(plain::to_bf16(1.0f + 0x1p-8f), 0x3f80);             // A tie, down to even.
  EXPECT_EQ(plain::to_bf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // More than half.
  EXPECT_EQ(plain::to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);         // A tie, up to even.
  EXPECT_EQ(plain::to_bf16(-2.0f), 0xc000);
  EXPECT_EQ(plain::to_bf16(std::numeric_limits<float>::max()), 0x7f80);  // Infinity.
  EXPECT_TRUE(std::isnan(plain::from_bf16(plain::to_bf16(std::nanf("1")))));
  for (const float kept : {0.0f, -1.5f, 96.0f, 0x1p-100f})
    EXPECT_EQ(plain::from_bf16(plain::to_bf16(kept)), kept);
}

TEST(Bf16, RoundsAllAsOne) {
  SKIP_WITHOUT_BF16();
  Vector from = normals(100, Random(1));
  from[3] = std::numeric_limits<float>::infinity();
  from[4] = 1.0f + 0x1p-8f;
  for (std::size_t count = 0; count < from.size(); ++count) {
    std::vector<Bf16> to(count + 1, 7), expected;
    bf16::round_all(count, from.data(), to.data());
    for (std::size_t i = 0; i < count; ++i) expected.push_back(plain::to_bf16(from[i]));
    expected.push_back(7);  // Nothing is written beyond.
    EXPECT_EQ(to, expected) << count;
  }
}

TEST(Bf16, PairsRowsAsThePlainLoopsDo) {
  SKIP_WITHOUT_BF16();
  for (const std::size_t rows : {1u, 2u, 5u, 8u})
    for (const std::size_t columns : {1u, 15u, 16u, 32u, 108u}) {
      const Vector from = normals(rows * columns, Random(rows));
      std::vector<Bf16> to((rows + 1) / 2 * 2 * columns + 1, 7), expected(to);
      bf16::pair_rows(rows, columns, from.data(), to.data());
      plain::pair_rows(rows, columns, from.data(), expected.data());
      EXPECT_EQ(to, expected) << rows << " by " << columns;
    }
}

// To the bit: the instruction's definition leaves nothing open.
TEST(Bf16, MultipliesAsThePlainLoopsDo) {
  SKIP_WITHOUT_BF16();
  for (const std::size_t rows : {1u, 7u, 8u, 19u})
    for (const std::size_t columns : {16u, 32u, 48u})
      for (const std::size_t pairs : {1u, 3u, 40u}) {
        std::vector<Bf16> a(rows * 2 * pairs), b(2 * pairs * columns);
        const Vector left = normals(a.size(), Random(1)), right = normals(b.size(), Random(2));
        bf16::round_all(a.size(), left.data(), a.data());
        bf16::pair_rows(2 * pairs, columns, right.data(), b.data());
        Vector c(rows * columns), expected(c.size());
        bf16::PairProduct product{.rows = rows,
                                  .columns = columns,
                                  .pairs = pairs,
                                  .a = a.data(),
                                  .a_row = 2 * pairs,
                                  .a_pair = 2,
                                  .b = b.data(),
                                  .c = c.data()};
        bf16::multiply(product);
        product.c = expected.data();
        plain::multiply(product);
        EXPECT_EQ(c, expected) << rows << " " << columns << " " << pairs;
      }
}

}  // namespace
}  // namespace tessera
