#include "codec/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/sample_data.h"

namespace tessera {
namespace {

// The nearest multiple of the format's unit at x, ties to even, in double arithmetic: what
// `mantissa` bits after the point and a smallest normal exponent make of it.
double nearest(double x, int mantissa, int exponent_min) {
  const int exponent = x == 0 ? exponent_min : std::max(std::ilogb(x), exponent_min);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  return std::nearbyint(x / unit) * unit;
}

TEST(F16, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_f16(half);
    if (std::isnan(value)) {
      EXPECT_EQ(to_f16(value), half | 0x200);  // Made quiet.
    } else {
      EXPECT_EQ(to_f16(value), half);
    }
  }
}

TEST(Bf16, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_bf16(half);
    if (std::isnan(value)) {
      EXPECT_EQ(to_bf16(value), half | 0x40);
    } else {
      EXPECT_EQ(to_bf16(value), half);
    }
  }
}

TEST(F16, KnownValues) {
  EXPECT_EQ(from_f16(0x3c00), 1.0f);
  EXPECT_EQ(from_f16(0xc000), -2.0f);
  EXPECT_EQ(from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(from_f16(0x0400), 0x1p-14f);  // The smallest normal number.
  EXPECT_EQ(from_f16(0x0001), 0x1p-24f);  // The smallest denormal.
  EXPECT_TRUE(std::signbit(from_f16(0x8000)));
  EXPECT_EQ(from_f16(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(F16, RoundsToNearestEvenAndOverflowsWhereItSays) {
  EXPECT_EQ(from_f16(to_f16(65519.996f)), 65504.0f);
  EXPECT_EQ(from_f16(to_f16(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_f16(to_f16(-1e30f)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_f16(0x1p-25f), 0);           // A tie, to even.
  EXPECT_EQ(to_f16(0x1.000002p-25f), 1);    // Just above it.
  EXPECT_EQ(to_f16(1 + 0x1p-11f), 0x3c00);  // A tie, rounded down to even.
  EXPECT_EQ(to_f16(1 + 0x3p-11f), 0x3c02);  // A tie, rounded up to even.
  EXPECT_TRUE(std::isnan(from_f16(to_f16(std::numeric_limits<float>::signaling_NaN()))));
}

TEST(Halves, RoundLikeDoubleArithmetic) {
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    // All exponents that halves know, and some they do not.
    const float x = static_cast<float>(random.normal() * std::exp2(40 * random.uniform() - 28));
    const double half = nearest(x, 10, -14);
    const double expected =
        std::fabs(half) < 65536 ? half : std::copysign(std::numeric_limits<double>::infinity(), x);
    ASSERT_EQ(from_f16(to_f16(x)), expected) << x;
    ASSERT_EQ(from_bf16(to_bf16(x)), nearest(x, 7, -126)) << x;
  }
}

TEST(Bf16, OverflowsWhereItSays) {
  const float largest = from_bf16(0x7f7f);
  EXPECT_NEAR(largest, 3.3895e38, 1e34);
  EXPECT_EQ(from_bf16(to_bf16(std::nextafter(largest, 0.0f))), largest);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace tessera
