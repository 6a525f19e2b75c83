#include "codec/planes.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/fpzip_encoder.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

Bytes encoded(const Vector& values) {
  Bytes payload;
  encode_planes(values, Random(0), payload);
  return payload;
}

// 1.0f is 0x3f800000; rotated left by one, 0x7f000000.
TEST(Planes, KeepFewValuesAsTheyAre) {
  const Bytes payload = encoded({1.0f, -1.0f});
  const Bytes expected{std::byte{0}, std::byte{0}, std::byte{1},    std::byte{0},   std::byte{0},
                       std::byte{0}, std::byte{0}, std::byte{0x7f}, std::byte{0x7f}};
  EXPECT_EQ(payload, expected);
}

// Only the exponents of weights shrink: 3 bytes of 4 stay, and zstd takes about 3 bits of the rest.
// On the sample both beat fpzip by far more than the margin asked for.
TEST(Planes, CompressTheExponentsOfWeightsBetterThanFpzip) {
  const Vector values = weight_like_values(100'000, Random(1));
  const Bytes payload = encoded(values);
  EXPECT_EQ(payload[0], std::byte{1 << 3});
  const double ratio =
      4.0 * static_cast<double>(values.size()) / static_cast<double>(payload.size());
  EXPECT_GT(ratio, 1.17);
  Bytes fpzip;
  encode_fpzip(values, Random(0), fpzip);
  EXPECT_LT(static_cast<double>(payload.size()), 0.95 * static_cast<double>(fpzip.size()));
}

TEST(Planes, CompressWhatIsConstantToAlmostNothing) {
  EXPECT_LT(encoded(Vector(100'000, 0.1f)).size(), 400u);
}

TEST(Planes, LeaveNoiseAlone) {
  const Bytes payload = encoded(random_bit_patterns(100'000, Random(1)));
  EXPECT_EQ(payload[0], std::byte{0});
  EXPECT_EQ(payload.size(), planes_bound(100'000));
}

// Ten of 64 exponents occur twice, which is more often than noise would have it, and still zstd
// needs more than 64 bytes to say so: the plane is taken back and stays as it is.
TEST(Planes, TakeBackWhatDoesNotShrink) {
  Vector values;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t exponent = i < 54 ? 50 + i : i;
    values.push_back(std::bit_cast<float>(std::rotr(exponent << 24 | i * 0x030507, 1)));
  }
  const Bytes payload = encoded(values);
  EXPECT_EQ(payload[0], std::byte{0});
  Vector back(values.size());
  ASSERT_TRUE(decode_planes(payload, back).ok());
  EXPECT_EQ(back, values);
}

// A payload whose exponent plane is `frame`, for 64 values.
Bytes with_frame(const Bytes& frame) {
  constexpr std::size_t kFront = 1 + 3 * 64;
  const auto length = static_cast<std::uint32_t>(frame.size());
  Bytes payload(kFront + sizeof length + frame.size());
  payload[0] = std::byte{1 << 3};
  std::memcpy(&payload[kFront], &length, sizeof length);
  std::copy(frame.begin(), frame.end(), payload.end() - static_cast<std::ptrdiff_t>(length));
  return payload;
}

Bytes zstd_frame(std::size_t count) {
  const Bytes plane(count, std::byte{5});
  Bytes frame(ZSTD_compressBound(count));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plane.data(), count, 1));
  return frame;
}

TEST(Planes, AcceptExactlyOneFrameOfTheRightSize) {
  Vector back(64);
  EXPECT_TRUE(decode_planes(with_frame(zstd_frame(64)), back).ok());
  EXPECT_FALSE(decode_planes(with_frame(zstd_frame(63)), back).ok());
  EXPECT_FALSE(decode_planes(with_frame(zstd_frame(65)), back).ok());
  EXPECT_FALSE(decode_planes(with_frame(zstd_frame(100'000'000)), back).ok());
  EXPECT_FALSE(decode_planes(with_frame({}), back).ok());
  Bytes two = zstd_frame(32);
  const Bytes half = two;
  two.insert(two.end(), half.begin(), half.end());
  EXPECT_FALSE(decode_planes(with_frame(two), back).ok());
  // libzstd would skip this one: four bytes of nothing.
  Bytes skippable = zstd_frame(64);
  ByteWriter(skippable).put<std::uint32_t>(0x184d2a50);
  ByteWriter(skippable).put<std::uint32_t>(0);
  EXPECT_FALSE(decode_planes(with_frame(skippable), back).ok());
}

TEST(Planes, RefuseFlagsThatMeanNothing) {
  Bytes payload = encoded({1.0f});
  payload[0] = std::byte{16};
  Vector back(1);
  EXPECT_EQ(decode_planes(payload, back).error().kind, "values");
}

}  // namespace
}  // namespace tessera
