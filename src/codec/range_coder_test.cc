#include "codec/range_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "codec/range_indices.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

Bytes coded(const std::vector<bool>& bits, std::size_t chances, bool even) {
  Bytes out;
  RangeEncoder coder(out);
  std::vector<BitChance> learnt(chances);
  for (std::size_t i = 0; i < bits.size(); ++i)
    even ? coder.even_bit(bits[i]) : coder.bit(learnt[i % chances], bits[i]);
  coder.finish();
  return out;
}

std::vector<bool> drawn_bits(std::size_t count, double chance, Random random) {
  std::vector<bool> bits(count);
  for (std::size_t i = 0; i < count; ++i) bits[i] = random.uniform() < chance;
  return bits;
}

TEST(RangeCoder, GivesBackEveryBitAndStandsAtTheEnd) {
  for (const double chance : {0.0, 0.001, 0.3, 0.5, 0.98, 1.0}) {
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 50'000u}) {
      for (const bool even : {false, true}) {
        const auto bits = drawn_bits(count, chance, Random(count));
        const Bytes stream = coded(bits, 3, even);
        RangeDecoder coder(stream);
        std::vector<BitChance> learnt(3);
        for (std::size_t i = 0; i < bits.size(); ++i)
          ASSERT_EQ(even ? coder.even_bit() : coder.bit(learnt[i % 3]), bits[i]) << i;
        EXPECT_TRUE(coder.finish().ok()) << chance << ", " << count;
      }
    }
  }
}

// Carries run through any number of bytes of all ones: bits that keep the lower end just below one.
TEST(RangeCoder, CarriesReachTheWaitingBytes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    auto bits = drawn_bits(200, 0.97, Random(seed));
    const Bytes stream = coded(bits, 1, seed % 2 == 0);
    RangeDecoder coder(stream);
    BitChance learnt;
    for (const bool bit : bits)
      ASSERT_EQ(seed % 2 == 0 ? coder.even_bit() : coder.bit(learnt), bit);
    ASSERT_TRUE(coder.finish().ok());
  }
}

TEST(RangeCoder, CostsAboutTheEntropyAndStaysWithinItsBounds) {
  constexpr std::size_t kCount = 200'000;
  for (const double chance : {0.02, 0.1, 0.5}) {
    const double entropy = -chance * std::log2(chance) - (1 - chance) * std::log2(1 - chance);
    const Bytes stream = coded(drawn_bits(kCount, chance, Random(1)), 1, false);
    const double cost = 8.0 * static_cast<double>(stream.size()) / kCount;
    EXPECT_GT(cost, entropy * 0.99);
    EXPECT_LT(cost, entropy * 1.03 + 0.001);
  }
  const auto bits_of = [](const Bytes& stream) { return 8.0 * static_cast<double>(stream.size()); };
  const std::vector<bool> zeros(kCount, false), ones(kCount, true);
  EXPECT_GE(bits_of(coded(zeros, 1, false)), kCount * BitChance::kBitsMin);
  EXPECT_GE(bits_of(coded(ones, 1, false)), kCount * BitChance::kBitsMin);
  BitChance sure_of_zero, sure_of_one;
  for (int i = 0; i < 10'000; ++i) sure_of_zero.learn(false), sure_of_one.learn(true);
  EXPECT_LE(sure_of_zero.of_zero(), 32'668u);
  EXPECT_GE(sure_of_one.of_zero(), 99u);
}

// What a real message looks like: ahead of gamma by 5% at least, and never far behind the others.
TEST(RangeIndices, AreSmallerThanGammaWhereIndicesCluster) {
  constexpr std::uint32_t kDimension = 90'000;
  for (const double density : {0.05, 0.1, 0.2}) {
    const Indices indices = clustered_indices(density, kDimension, Random(1));
    const IndexSet set{indices, kDimension};
    for (const IndexCodec& codec : index_codecs()) {
      if (codec.name == "range") continue;
      EXPECT_LT(static_cast<double>(range_size(set)), 0.97 * static_cast<double>(codec.size(set)))
          << codec.name << " at " << density;
    }
  }
}

}  // namespace
}  // namespace tessera
