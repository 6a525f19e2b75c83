// The two codes of gaps: exact sizes, the published figures, and fast against plain.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/gamma.h"
#include "codec/rice.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

std::vector<Indices> many_sets(std::uint32_t dimension) {
  std::vector<Indices> sets;
  const Random random(2);
  for (const double density : {0.0005, 0.003, 0.01, 0.05, 0.1, 0.2, 0.37, 0.6, 0.95}) {
    const Random own = random.fork("density", sets.size());
    sets.push_back(random_indices(density, dimension, own));
    sets.push_back(clustered_indices(std::min(density, 0.4), dimension, own));
  }
  // Dense with holes of every size, so that the table and the long way take turns.
  Indices holed;
  for (std::uint32_t i = 0, hole = 1; i < dimension; ++i) {
    holed.push_back(i);
    if (i % 50 == 0) i += hole = hole * 3 % 20'011;
  }
  sets.push_back(holed);
  return sets;
}

TEST(Gamma, SizeIsTheSumOfTheCodes) {
  constexpr std::uint32_t kDimension = 300'000;
  for (const Indices& indices : many_sets(kDimension)) {
    std::uint64_t bits = 0;
    for (std::size_t i = 1; i < indices.size(); ++i)
      bits += 2 * static_cast<std::uint64_t>(std::log2(indices[i] - indices[i - 1])) + 1;
    Bytes payload;
    encode_gamma({indices, kDimension}, payload);
    EXPECT_EQ(payload.size(), 4 + (bits + 7) / 8);
  }
}

// 5, 6, 9, 10 as bytes: the first index, then gaps 1, 3, 1 as 1, 011, 1 and three bits of padding.
TEST(Gamma, WritesWhatTheDefinitionSays) {
  Bytes payload;
  encode_gamma({Indices{5, 6, 9, 10}, 11}, payload);
  EXPECT_EQ(payload, (Bytes{std::byte{5}, std::byte{0}, std::byte{0}, std::byte{0},
                            std::byte{0b10111'000}}));
}

// Bits per index at random positions, computed for geometric gaps. 400,000 gaps of standard
// deviation below 4 bits make the mean exact to 0.01 in all but one of many thousand runs.
TEST(Gamma, TakesThePublishedBitsPerIndex) {
  struct Row {
    double density, bits;
  };
  for (const Row row :
       {Row{0.10, 5.71}, {0.15, 4.76}, {0.20, 4.12}, {0.25, 3.64}, {0.30, 3.26}, {0.40, 2.69}}) {
    const auto dimension = static_cast<std::uint32_t>(400'000 / row.density);
    const Indices indices = random_indices(row.density, dimension, Random(5));
    const double bits = 8.0 * static_cast<double>(gamma_size({indices, dimension})) /
                        static_cast<double>(indices.size());
    EXPECT_NEAR(bits, row.bits, 0.02) << "density " << row.density;
  }
}

TEST(Gamma, FastEqualsPlainBothWays) {
  constexpr std::uint32_t kDimension = 300'000;
  for (const Indices& indices : many_sets(kDimension)) {
    Bytes fast, plain;
    encode_gamma({indices, kDimension}, fast);
    plain::encode_gamma({indices, kDimension}, plain);
    ASSERT_EQ(fast, plain);
    Indices by_table(indices.size()), by_bit(indices.size());
    ASSERT_TRUE(decode_gamma(fast, kDimension, by_table).ok());
    ASSERT_TRUE(plain::decode_gamma(fast, kDimension, by_bit).ok());
    EXPECT_EQ(by_table, indices);
    EXPECT_EQ(by_bit, indices);
  }
}

TEST(Rice, FastEqualsPlain) {
  constexpr std::uint32_t kDimension = 300'000;
  for (const Indices& indices : many_sets(kDimension)) {
    Bytes payload;
    encode_rice({indices, kDimension}, payload);
    Indices by_table(indices.size()), by_bit(indices.size());
    ASSERT_TRUE(decode_rice(payload, kDimension, by_table).ok());
    ASSERT_TRUE(plain::decode_rice(payload, kDimension, by_bit).ok());
    EXPECT_EQ(by_table, indices);
    EXPECT_EQ(by_bit, indices);
  }
}

// Both readers must also agree on what they refuse.
TEST(Gaps, FastAndPlainRefuseTheSame) {
  Random random(8);
  for (int trial = 0; trial < 30'000; ++trial) {
    Bytes payload(5 + random.below(60));
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.bits() | random.bits());
    payload[0] = static_cast<std::byte>(random.below(34));
    const std::size_t count = 1 + random.below(8 * payload.size() - 39);
    const auto dimension = static_cast<std::uint32_t>(random.bits() >> random.below(20));
    Indices fast(count), plain(count);
    const auto same = [&](const Result<void>& a, const Result<void>& b) {
      ASSERT_EQ(a.ok(), b.ok());
      if (a.ok()) {
        EXPECT_EQ(fast, plain);
      }
    };
    same(decode_gamma(payload, dimension, fast), plain::decode_gamma(payload, dimension, plain));
    same(decode_rice(payload, dimension, fast), plain::decode_rice(payload, dimension, plain));
  }
}

TEST(Rice, ParameterIsTheBestOfAll) {
  constexpr std::uint32_t kDimension = 300'000;
  auto sets = many_sets(kDimension);
  sets.push_back({0});
  sets.push_back({0, 1});
  sets.push_back({0, 299'999});
  sets.push_back({0, 1, 2, 3, 4, 5, 6, 299'999});  // One outlier pulls the mean far up.
  for (const Indices& indices : sets) {
    const IndexSet set{indices, kDimension};
    const unsigned chosen = best_rice_parameter(set);
    for (unsigned k = 0; k < 32; ++k) EXPECT_LE(rice_bits(set, chosen), rice_bits(set, k)) << k;
  }
}

// A quarter of what real messages look like: gamma where they cluster, Rice where they do not.
TEST(Gaps, ClustersFavourGammaAndRandomPlacesRice) {
  const Indices random = random_indices(0.1, 100'000, Random(9));
  const Indices clustered = clustered_indices(0.1, 100'000, Random(9));
  EXPECT_LT(rice_size({random, 100'000}), gamma_size({random, 100'000}));
  EXPECT_LT(gamma_size({clustered, 100'000}), rice_size({clustered, 100'000}));
}

}  // namespace
}  // namespace tessera
