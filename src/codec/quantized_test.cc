#include "codec/quantized.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codec/grid.h"
#include "codec/int8.h"
#include "codec/sample_data.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

Vector there_and_back(const Vector& values, int levels, const Random& rounding) {
  Bytes payload;
  encode_quantized(values, levels, rounding, payload);
  Vector back(values.size());
  EXPECT_TRUE(decode_quantized(payload, levels, back).ok());
  return back;
}

TEST(Quantized, RoundsWithoutBias) {
  const Vector values{1.0f, 0.31f, -0.77f, 0.05f, -1.0f};
  for (const unsigned bits : {2u, 4u, 8u}) {
    std::vector<double> sums(values.size());
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Vector back =
          there_and_back(values, quantized_levels(bits), Random(7).fork("trial", trial));
      for (std::size_t i = 0; i < values.size(); ++i) sums[i] += back[i];
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(sums[i] / kTrials, values[i], 0.04) << bits << " bits, value " << i;
  }
}

TEST(Quantized, WhatIsNotFiniteIsNotANumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Vector back =
      there_and_back({0.5f, kInfinity, -kInfinity, std::nanf(""), -0.5f}, 7, Random(1));
  EXPECT_TRUE(std::isfinite(back[0]));
  for (const std::size_t i : {1u, 2u, 3u}) EXPECT_TRUE(std::isnan(back[i]));
  EXPECT_TRUE(std::isfinite(back[4]));
}

TEST(Quantized, TheLargestFloatsStayFinite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (unsigned bits = 2; bits <= 8; ++bits)
    for (const float value :
         there_and_back({kLargest, -kLargest}, quantized_levels(bits), Random(1)))
      EXPECT_TRUE(std::isfinite(value)) << bits;
}

// Eight bits in fewer bytes than int8's, and each bit less saves nearly one.
TEST(Quantized, FewerBitsAreFewerBytes) {
  const Vector values = weight_like_values(50'000, Random(3));
  const auto bits_per_value = [&](std::string_view name) {
    for (const ValueCodec& codec : value_codecs()) {
      if (codec.name != name) continue;
      Bytes payload;
      codec.encode(values, Random(4), payload);
      return 8.0 * static_cast<double>(payload.size()) / static_cast<double>(values.size());
    }
    return 0.0;
  };
  EXPECT_LT(bits_per_value("q8"), 0.93 * bits_per_value("int8"));
  EXPECT_LT(bits_per_value("q6"), 5.9);
  EXPECT_LT(bits_per_value("q4"), 3.8);
  EXPECT_LT(bits_per_value("q2"), 1.4);
}

TEST(Grid, MultiplesOfAPowerOfTwoTakeTheirEntropy) {
  Random random(5);
  Vector values(20'000);
  for (float& value : values)
    value = 0x1p-9f * static_cast<float>(std::lround(2 * random.normal()));
  Bytes payload;
  encode_grid(values, Random(1), payload);
  // The entropy of a normal variable with a deviation of two steps is log2(2 sqrt(2 pi e)) = 3.05.
  EXPECT_LT(8.0 * static_cast<double>(payload.size()) / 20'000, 3.12);
}

// What no multiple can be still comes back whole, a byte dearer.
TEST(Grid, OtherValuesTravelAsTheyAre) {
  for (const Vector& values :
       {Vector{0.1f, 1e30f}, Vector{-0.0f, 1.0f}, Vector{std::nanf(""), 1.0f}}) {
    Bytes payload;
    encode_grid(values, Random(1), payload);
    EXPECT_EQ(payload.size(), 1 + values.size() * sizeof(float));
  }
}

}  // namespace
}  // namespace tessera
