#include "codec/int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/hash.h"
#include "codec/int8_blocks.h"
#include "codec/sample_data.h"
#include "math/simd.h"

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();

Vector through(const Vector& values, std::uint64_t seed) {
  Bytes payload;
  encode_int8(values, Random(seed), payload);
  Vector back(values.size());
  EXPECT_TRUE(decode_int8(payload, back).ok());
  return back;
}

// One step is peak / 127. A rounded value is one of two neighbours a step apart, so its variance is
// at most a quarter of a step squared, and the mean of 4,000 is within 5 standard deviations of
// 0.5 / sqrt(4000) steps: 0.04. Rounding to nearest would be off by up to 0.5.
TEST(Int8, IsUnbiased) {
  constexpr int kSeeds = 4000;
  Vector values;
  for (int i = 0; i < 64; ++i) values.push_back(0.013f * static_cast<float>(i) - 0.31f);
  values.push_back(1e-3f);  // A block of its own, and exactly representable: 127 steps.
  const double step = 0.509 / 127;
  std::vector<double> sums(values.size(), 0);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Vector back = through(values, static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += back[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(sums[i] / kSeeds, values[i], 0.04 * step) << i;
}

TEST(Int8, SameSeedSameBytesOtherSeedOtherBytes) {
  const Vector values = weight_like_values(1000, Random(1));
  EXPECT_EQ(through(values, 5), through(values, 5));
  EXPECT_NE(through(values, 5), through(values, 6));
}

// Any bits, whole blocks and a rest.
TEST(Int8, EveryTargetEqualsThePlainVersion) {
  Random random(4);
  for (const std::size_t n : {0u, 1u, 15u, 63u, 64u, 65u, 128u, 1000u}) {
    for (const bool any_bits : {false, true}) {
      Vector values = weight_like_values(n, random.fork("values", n));
      if (any_bits)
        for (float& value : values) value = std::bit_cast<float>(random.bits());
      const std::size_t scale_bytes = (n + 63) / 64 * sizeof(float);
      Bytes expected(scale_bytes + n);
      plain::round_blocks(values, 7, expected.data(), expected.data() + scale_bytes);
      Vector back(n), restored(n);
      plain::restore_blocks(expected.data(), expected.data() + scale_bytes, back);
      for (const std::string& target : simd_targets()) {
        const UseSimdTarget forced(target);
        Bytes bytes(expected.size());
        round_blocks(values, 7, bytes.data(), bytes.data() + scale_bytes);
        EXPECT_EQ(bytes, expected) << target << " n " << n;
        restore_blocks(bytes.data(), bytes.data() + scale_bytes, restored);
        EXPECT_EQ(hash_bytes(bytes_of(std::span<const float>(restored))),
                  hash_bytes(bytes_of(std::span<const float>(back))))
            << target << " n " << n;
      }
    }
  }
}

TEST(Int8, IsNeverAStepAway) {
  const Vector values = weight_like_values(6400, Random(2));
  const Vector back = through(values, 3);
  for (std::size_t block = 0; block < values.size(); block += kInt8Block) {
    float peak = 0;
    for (std::size_t i = 0; i < kInt8Block; ++i)
      peak = std::max(peak, std::fabs(values[block + i]));
    for (std::size_t i = 0; i < kInt8Block; ++i)
      EXPECT_LT(std::fabs(back[block + i] - values[block + i]), peak / 127 * 1.0001f);
  }
}

// Zeros stay zeros, and the peak of a block is 127 steps whatever the draw.
TEST(Int8, KeepsZerosAndPeaks) {
  Vector values(130, 0.0f);
  values[3] = -2.54f;
  const Vector back = through(values, 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(back[i], values[i], i == 3 ? 1e-6 : 0) << i;
}

TEST(Int8, DenormalsKeepTheirPeak) {
  for (const float peak : {kSmallest, 100 * kSmallest, 178 * kSmallest, 1e-40f, 1e-38f}) {
    const float back = through({peak}, 1)[0];
    EXPECT_LE(std::fabs(back - peak), peak / 127 + kSmallest) << peak;
    EXPECT_GT(back, 0) << peak;
  }
}

TEST(Int8, TheLargestStayFinite) {
  const Vector back = through({kLargest, -kLargest, 1.0f}, 1);
  EXPECT_TRUE(std::isfinite(back[0]) && std::isfinite(back[1]));
  EXPECT_NEAR(back[0] / kLargest, 1, 1e-6);
  EXPECT_NEAR(back[1] / kLargest, -1, 1e-6);
}

TEST(Int8, WhatIsNotFiniteBecomesNanAndSpoilsNobodyElse) {
  Vector values(64, 0.5f);
  values[1] = kInfinity;
  values[2] = -kInfinity;
  values[3] = std::nanf("");
  const Vector back = through(values, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i >= 1 && i <= 3) {
      EXPECT_TRUE(std::isnan(back[i])) << i;
    } else {
      EXPECT_NEAR(back[i], 0.5, 1e-6) << i;
    }
  }
  EXPECT_TRUE(std::isnan(through({kInfinity}, 1)[0]));
}

TEST(Int8, RefusesScalesThatCannotBe) {
  Bytes payload;
  encode_int8(Vector(64, 1.0f), Random(1), payload);
  Vector back(64);
  for (const float scale : {-1.0f, -0.0f, kInfinity, std::nanf(""), 3e36f}) {
    std::memcpy(payload.data(), &scale, sizeof scale);
    const auto result = decode_int8(payload, back);
    ASSERT_FALSE(result.ok()) << scale;
    EXPECT_EQ(result.error().kind, "values");
  }
}

}  // namespace
}  // namespace tessera
