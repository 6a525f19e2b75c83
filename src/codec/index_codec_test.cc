// What every index codec must hold, for each row of the table: a new row is tested before its
// author writes a test.
#include "codec/index_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "codec/sample_data.h"

namespace tessera {
namespace {

constexpr std::uint32_t kDimensionMax = 0xffffffff;

struct Sample {
  Indices indices{};
  std::uint32_t dimension = 0;
  IndexSet set() const { return {indices, dimension}; }
};

Indices all_below(std::uint32_t dimension) {
  Indices indices(dimension);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

std::vector<Sample> samples() {
  std::vector<Sample> samples{
      {{}, 0},
      {{}, 5},
      {{0}, 1},
      {{8}, 9},
      {{0, 1}, 2},
      {{0, kDimensionMax - 1}, kDimensionMax},
      {{kDimensionMax - 1}, kDimensionMax},
      {{0, 1, 2, 1u << 28, 1u << 29, 1u << 31, kDimensionMax - 1}, kDimensionMax},
  };
  const Random random(1);
  for (const std::uint32_t dimension : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 127u, 300u, 5000u}) {
    samples.push_back({{}, dimension});
    samples.push_back({all_below(dimension), dimension});
    for (const double density : {0.01, 0.1, 0.37, 0.9}) {
      samples.push_back(
          {random_indices(density, dimension, random.fork("a", dimension)), dimension});
      samples.push_back(
          {clustered_indices(std::min(density, 0.4), dimension, random.fork("b", dimension)),
           dimension});
    }
  }
  // Gaps of every size: the sums of 1, 2, 4, ... and of their neighbours.
  for (const std::uint32_t offset : {0u, 1u}) {
    Indices indices{3};
    for (std::uint32_t gap = 1; gap < 1u << 30; gap *= 2)
      indices.push_back(indices.back() + gap + offset);
    samples.push_back({indices, indices.back() + 1});
  }
  return samples;
}

// A bitmap of 2^32 coordinates is half a gigabyte: right, and too much for a test.
bool is_small(const IndexCodec& codec, const Sample& sample) {
  return codec.size(sample.set()) < 1u << 20;
}

Bytes encoded(const IndexCodec& codec, const Sample& sample) {
  Bytes payload;
  codec.encode(sample.set(), payload);
  return payload;
}

Result<void> decoded(const IndexCodec& codec, const Bytes& payload, const Sample& sample,
                     Indices& indices) {
  indices.assign(sample.indices.size(), 0);
  return codec.decode(payload, sample.dimension, indices);
}

template <typename Check>
void for_every_codec_and_sample(const Check& check) {
  for (const IndexCodec& codec : index_codecs()) {
    for (const Sample& sample : samples()) {
      if (!is_small(codec, sample)) continue;
      SCOPED_TRACE(testing::Message() << codec.name << ", " << sample.indices.size()
                                      << " indices below " << sample.dimension);
      check(codec, sample);
    }
  }
}

TEST(IndexCodecs, HaveNamesSummariesAndIdsOfTheirOwn) {
  std::set<int> ids;
  std::set<std::string_view> names;
  for (const IndexCodec& codec : index_codecs()) {
    EXPECT_NE(codec.wire_id, 0);
    EXPECT_TRUE(ids.insert(codec.wire_id).second) << codec.name;
    EXPECT_TRUE(names.insert(codec.name).second) << codec.name;
    EXPECT_FALSE(codec.summary.empty()) << codec.name;
    EXPECT_EQ(find_index_codec(codec.wire_id), &codec);
  }
  EXPECT_EQ(find_index_codec(0), nullptr);
  EXPECT_EQ(find_index_codec(255), nullptr);
}

TEST(IndexCodecs, RoundTripWithinTheirBounds) {
  for_every_codec_and_sample([](const IndexCodec& codec, const Sample& sample) {
    const Bytes payload = encoded(codec, sample);
    const auto count = static_cast<std::uint32_t>(sample.indices.size());
    EXPECT_EQ(payload.size(), codec.size(sample.set()));
    EXPECT_LE(payload.size(), codec.bound(count, sample.dimension));
    EXPECT_GE(codec.indices_max(payload.size()), count);
    Indices indices;
    const auto result = decoded(codec, payload, sample, indices);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(indices, sample.indices);
  });
}

TEST(IndexCodecs, AppendToWhatIsThere) {
  for_every_codec_and_sample([](const IndexCodec& codec, const Sample& sample) {
    Bytes out(3, std::byte{7});
    codec.encode(sample.set(), out);
    const Bytes payload = encoded(codec, sample);
    ASSERT_EQ(out.size(), payload.size() + 3);
    EXPECT_EQ(out[2], std::byte{7});
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), out.begin() + 3));
  });
}

TEST(IndexCodecs, RefuseEveryTruncationAndEveryExtension) {
  for_every_codec_and_sample([](const IndexCodec& codec, const Sample& sample) {
    Bytes payload = encoded(codec, sample);
    Indices indices;
    for (std::size_t size = 0; size < payload.size(); ++size) {
      const Bytes cut(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(decoded(codec, cut, sample, indices).ok()) << "cut to " << size;
    }
    for (const int extra : {0, 1, 255}) {
      payload.push_back(static_cast<std::byte>(extra));
      EXPECT_FALSE(decoded(codec, payload, sample, indices).ok()) << "with " << extra;
      payload.pop_back();
    }
  });
}

// Another count than the encoder's, or a smaller dimension, must not pass either.
TEST(IndexCodecs, RefuseAnotherCountOrASmallerDimension) {
  for_every_codec_and_sample([](const IndexCodec& codec, const Sample& sample) {
    const Bytes payload = encoded(codec, sample);
    const std::size_t count = sample.indices.size();
    Indices more(count + 1);
    EXPECT_FALSE(codec.decode(payload, sample.dimension, more).ok());
    if (count == 0) return;
    Indices fewer(count - 1);
    EXPECT_FALSE(codec.decode(payload, sample.dimension, fewer).ok());
    Indices same(count);
    EXPECT_FALSE(codec.decode(payload, sample.indices.back(), same).ok());
  });
}

// A flipped bit may well give another set; it must be a set, and reading it must stay in bounds
// (which the sanitizers watch).
TEST(IndexCodecs, SurviveEveryFlippedBit) {
  for_every_codec_and_sample([](const IndexCodec& codec, const Sample& sample) {
    Bytes payload = encoded(codec, sample);
    if (payload.size() > 2000) return;
    // A range code takes 30 ns an index, and ten times that where every access is checked.
    const std::size_t step = !TESSERA_SANITIZED ? 1 : codec.name == "range" ? 7 : 3;
    Indices indices;
    for (std::size_t bit = 0; bit < payload.size() * 8; bit += step) {
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
      if (decoded(codec, payload, sample, indices).ok()) {
        EXPECT_TRUE(is_valid({indices, sample.dimension})) << "bit " << bit;
      }
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  });
}

TEST(IndexCodecs, SurviveNoise) {
  Random random(3);
  for (const IndexCodec& codec : index_codecs()) {
    for (int trial = 0; trial < 20'000; ++trial) {
      Bytes payload(random.below(40));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.bits());
      Indices indices(
          random.below(std::min<std::uint64_t>(codec.indices_max(payload.size()), 500) + 1));
      const auto dimension = static_cast<std::uint32_t>(random.bits() >> random.below(32));
      if (codec.decode(payload, dimension, indices).ok()) {
        EXPECT_TRUE(is_valid({indices, dimension})) << codec.name;
      }
    }
  }
}

TEST(IndexSet, IsValidOnlyWhenIncreasingAndBelowTheDimension) {
  const auto valid = [](Indices indices, std::uint32_t dimension) {
    return is_valid({indices, dimension});
  };
  EXPECT_TRUE(valid({}, 0));
  EXPECT_TRUE(valid({0, 1, 5}, 6));
  EXPECT_FALSE(valid({0, 1, 5}, 5));
  EXPECT_FALSE(valid({1, 1}, 6));
  EXPECT_FALSE(valid({2, 1}, 6));
}

}  // namespace
}  // namespace tessera
