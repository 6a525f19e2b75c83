// What every value codec must hold, for each row of the table: a new row is tested before its
// author writes a test.
#include "codec/value_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/threads.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

// The corners of the format: both zeros, the denormals, the infinities, NaNs quiet and signalling
// with payloads.
Vector special_values() {
  Vector values;
  for (const std::uint32_t bits :
       {0x00000000u, 0x80000000u, 0x00000001u, 0x807fffffu, 0x00800000u, 0x7f7fffffu, 0xff7fffffu,
        0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f800001u, 0xffbfffffu, 0x3f800000u})
    values.push_back(std::bit_cast<float>(bits));
  return values;
}

std::vector<Vector> samples() {
  const Random random(1);
  std::vector<Vector> samples{{}, {1.5f}, special_values()};
  for (const std::size_t count : {2u, 3u, 63u, 64u, 65u, 127u, 1000u, 5000u}) {
    samples.push_back(weight_like_values(count, random.fork("weights", count)));
    samples.push_back(random_bit_patterns(count, random.fork("bits", count)));
    samples.push_back(Vector(count, 0.0f));
    samples.push_back(Vector(count, -3.25f));
  }
  samples.push_back(weight_like_values(100'000, random.fork("weights")));
  samples.push_back(Vector(300'000, 1e-42f));
  return samples;
}

Bytes encoded(const ValueCodec& codec, const Vector& values) {
  Bytes payload;
  codec.encode(values, Random(4), payload);
  return payload;
}

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

template <typename Check>
void for_every_codec_and_sample(const Check& check) {
  for (const ValueCodec& codec : value_codecs()) {
    for (const Vector& values : samples()) {
      SCOPED_TRACE(testing::Message() << codec.name << ", " << values.size() << " values from "
                                      << (values.empty() ? 0.0f : values[0]));
      check(codec, values);
    }
  }
}

// From one place of a payload that a test damages to the next. Every one, except where a few bytes
// stand for very many values of a range code, which takes 30 ns for each. Sanitizers see every
// fifth.
std::size_t stride(const ValueCodec& codec, const Vector& values, std::size_t places) {
  const bool range_coded = codec.name.front() == 'q' || codec.name == "grid";
  constexpr std::size_t kWork = TESSERA_SANITIZED ? 100'000 : 4'000'000;
  constexpr std::size_t kApart = TESSERA_SANITIZED ? 5 : 1;
  return range_coded ? kApart + values.size() * places / kWork : kApart;
}

TEST(ValueCodecs, HaveNamesSummariesAndIdsOfTheirOwn) {
  std::set<int> ids;
  std::set<std::string_view> names;
  for (const ValueCodec& codec : value_codecs()) {
    EXPECT_NE(codec.wire_id, 0);
    EXPECT_TRUE(ids.insert(codec.wire_id).second) << codec.name;
    EXPECT_TRUE(names.insert(codec.name).second) << codec.name;
    EXPECT_FALSE(codec.summary.empty()) << codec.name;
    EXPECT_EQ(find_value_codec(codec.wire_id), &codec);
  }
  EXPECT_EQ(find_value_codec(0), nullptr);
  EXPECT_EQ(find_value_codec(255), nullptr);
}

TEST(ValueCodecs, DecodeWithinTheirBounds) {
  for_every_codec_and_sample([](const ValueCodec& codec, const Vector& values) {
    const Bytes payload = encoded(codec, values);
    EXPECT_LE(payload.size(), codec.bound(values.size()));
    EXPECT_GE(codec.values_max(payload.size()), values.size());
    Vector back(values.size());
    const auto result = codec.decode(payload, back);
    ASSERT_TRUE(result.ok()) << result.error().message;
    if (codec.lossless) {
      EXPECT_TRUE(same_bits(back, values));
    }
  });
}

// Coarse rows may round, but not by more than they say: a hundredth of the largest value around
// unless their name has fewer bits.
TEST(ValueCodecs, LossyOnesStayNear) {
  const Vector values = weight_like_values(64'000, Random(2));
  for (const ValueCodec& codec : value_codecs()) {
    Vector back(values.size());
    ASSERT_TRUE(codec.decode(encoded(codec, values), back).ok()) << codec.name;
    for (std::size_t block = 0; block < values.size(); block += 64) {
      float peak = 0;
      for (std::size_t i = block; i < block + 64; ++i) peak = std::max(peak, std::fabs(values[i]));
      for (std::size_t i = block; i < block + 64; ++i)
        ASSERT_NEAR(back[i], values[i], peak * codec.error_max) << codec.name;
    }
  }
}

TEST(ValueCodecs, OnlyThoseNamedByTheirBitsAreCoarserThanAHundredth) {
  for (const ValueCodec& codec : value_codecs()) {
    if (codec.name.front() == 'q') continue;
    EXPECT_EQ(codec.error_max, 0.01) << codec.name;
  }
}

TEST(ValueCodecs, AppendToWhatIsThere) {
  for_every_codec_and_sample([](const ValueCodec& codec, const Vector& values) {
    Bytes out(3, std::byte{7});
    codec.encode(values, Random(4), out);
    const Bytes payload = encoded(codec, values);
    ASSERT_EQ(out.size(), payload.size() + 3);
    EXPECT_EQ(out[2], std::byte{7});
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), out.begin() + 3));
  });
}

TEST(ValueCodecs, RefuseEveryTruncationAndEveryExtension) {
  for_every_codec_and_sample([](const ValueCodec& codec, const Vector& values) {
    Bytes payload = encoded(codec, values);
    if (payload.size() > 10'000) return;
    Vector back(values.size());
    const std::size_t step = stride(codec, values, payload.size());
    for (std::size_t size = 0; size < payload.size(); size += step) {
      const Bytes cut(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(codec.decode(cut, back).ok()) << "cut to " << size;
    }
    for (const int extra : {0, 1, 255}) {
      payload.push_back(static_cast<std::byte>(extra));
      EXPECT_FALSE(codec.decode(payload, back).ok()) << "with " << extra;
      payload.pop_back();
    }
  });
}

TEST(ValueCodecs, RefuseAnotherCount) {
  for_every_codec_and_sample([](const ValueCodec& codec, const Vector& values) {
    const Bytes payload = encoded(codec, values);
    Vector more(values.size() + 1);
    EXPECT_FALSE(codec.decode(payload, more).ok());
    if (values.empty()) return;
    Vector fewer(values.size() - 1);
    EXPECT_FALSE(codec.decode(payload, fewer).ok());
  });
}

// Whatever comes out, nothing is read or written out of bounds (which the sanitizers watch).
TEST(ValueCodecs, SurviveEveryFlippedBit) {
  for_every_codec_and_sample([](const ValueCodec& codec, const Vector& values) {
    Bytes payload = encoded(codec, values);
    if (payload.size() > 1200) return;
    Vector back(values.size());
    const std::size_t step = stride(codec, values, payload.size() * 8);
    for (std::size_t bit = 0; bit < payload.size() * 8; bit += step) {
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
      (void)codec.decode(payload, back).ok();
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  });
}

TEST(ValueCodecs, SurviveNoise) {
  Random random(3);
  for (const ValueCodec& codec : value_codecs()) {
    for (int trial = 0; trial < 20'000; ++trial) {
      Bytes payload(random.below(60));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.bits());
      Vector back(random.below(std::min<std::uint64_t>(codec.values_max(payload.size()), 500) + 1));
      (void)codec.decode(payload, back).ok();
    }
  }
}

// The same bytes whatever was encoded before: contexts and scratch keep no memory of it.
TEST(ValueCodecs, DependOnNothingButTheirInput) {
  const Vector values = weight_like_values(3000, Random(6));
  for (const ValueCodec& codec : value_codecs()) {
    const Bytes first = encoded(codec, values);
    (void)encoded(codec, weight_like_values(70'000, Random(7)));
    EXPECT_EQ(encoded(codec, values), first) << codec.name;
  }
}

// Nor do threads disturb each other: each has contexts and scratch of its own.
TEST(ValueCodecs, WorkOnManyThreadsAtOnce) {
  const Vector values = weight_like_values(20'000, Random(8));
  for (const ValueCodec& codec : value_codecs()) {
    const Bytes expected = encoded(codec, values);
    Vector expected_back(values.size());
    ASSERT_TRUE(codec.decode(expected, expected_back).ok());
    Workers(4).for_each(16, [&](std::size_t) {
      Vector back(values.size());
      EXPECT_EQ(encoded(codec, values), expected) << codec.name;
      EXPECT_TRUE(codec.decode(expected, back).ok() && same_bits(back, expected_back))
          << codec.name;
    });
  }
}

}  // namespace
}  // namespace tessera
