#include "math/select.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "base/hash.h"
#include "base/random.h"
#include "math/select_passes.h"
#include "math/simd.h"

namespace tessera {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

Indices select(const Vector& scores, std::size_t k) {
  Indices chosen;
  select_largest(scores, k, chosen);
  return chosen;
}

TEST(Select, ChoosesByMagnitudeAndListsAscending) {
  EXPECT_EQ(select({1, -5, 3, 0, -4}, 3), (Indices{1, 2, 4}));
}

TEST(Select, NoneAllAndOne) {
  EXPECT_EQ(select({1, 2, 3}, 0), Indices{});
  EXPECT_EQ(select({1, 2, 3}, 3), (Indices{0, 1, 2}));
  EXPECT_EQ(select({7}, 1), Indices{0});
  EXPECT_EQ(select({}, 0), Indices{});
}

// Of any length, the one wrong step at any place, on every instruction set.
TEST(Select, KnowsWhatIncreasesStrictly) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (std::size_t count : {0u, 1u, 2u, 15u, 16u, 17u, 64u, 1001u}) {
      Indices values(count);
      for (std::size_t i = 0; i < count; ++i)
        values[i] = 0x7ffffff0u + static_cast<std::uint32_t>(3 * i);  // Over the sign bit.
      EXPECT_TRUE(increase_strictly(values)) << target;
      for (std::size_t wrong = 1; wrong < count; ++wrong) {
        Indices repeated = values;
        repeated[wrong] = repeated[wrong - 1];
        EXPECT_FALSE(increase_strictly(repeated)) << target << ' ' << count << ' ' << wrong;
      }
    }
  }
}

TEST(Select, TiesGoToTheLowerIndex) {
  EXPECT_EQ(select({2, -2, 2, -2}, 2), (Indices{0, 1}));
  EXPECT_EQ(select({0.0f, -0.0f, 0.0f}, 2), (Indices{0, 1}));
  EXPECT_EQ(select(Vector(100000, 0.5f), 3), (Indices{0, 1, 2}));
}

TEST(Select, OrdersDenormalsInfinitiesAndNan) {
  // Ascending: 0, a denormal, one, infinity, NaN.
  const Vector scores = {1, kNan, 0, -kInf, kTiny, -kNan};
  EXPECT_EQ(select(scores, 1), Indices{1});
  EXPECT_EQ(select(scores, 2), (Indices{1, 5}));
  EXPECT_EQ(select(scores, 3), (Indices{1, 3, 5}));
  EXPECT_EQ(select(scores, 4), (Indices{0, 1, 3, 5}));
  EXPECT_EQ(select(scores, 5), (Indices{0, 1, 3, 4, 5}));
  // NaNs are equal whatever their sign and payload, so the lower index wins.
  EXPECT_EQ(select({std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)}, 1),
            Indices{0});
}

// Data that strain the sample: few distinct values, sorted, heavy tails, mostly zero, periodic with
// its stride.
Vector scores_of(int kind, std::size_t n, Random random) {
  Vector scores(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = random.uniform();
    switch (kind) {
      case 0:
        scores[i] = static_cast<float>(random.normal());
        break;
      case 1:
        scores[i] = static_cast<float>(std::floor(u * 4));
        break;
      case 2:
        scores[i] = static_cast<float>(i);
        break;
      case 3:
        scores[i] = static_cast<float>(std::pow(u, -3));
        break;
      case 4:
        scores[i] = u < 0.95 ? 0 : static_cast<float>(u);
        break;
      case 5:
        scores[i] = static_cast<float>(i % 128 == 0 ? 1 : 1000 + i % 7);
        break;
      default:
        scores[i] = std::bit_cast<float>(random.bits());
        break;
    }
  }
  return scores;
}

TEST(Select, EveryTargetEqualsThePlainVersion) {
  Random random(6);
  for (int kind = 0; kind <= 6; ++kind) {
    for (const std::size_t n : {2u, 15u, 16u, 17u, 2048u, 2049u, 5000u, 131072u}) {
      const Vector scores = scores_of(kind, n, random.fork("scores", n));
      for (const std::size_t k : {std::size_t{1}, n / 10, n * 37 / 100, n / 2, n - 1}) {
        Indices expected;
        plain::select_largest(scores, k, expected);
        for (const std::string& target : simd_targets()) {
          const UseSimdTarget forced(target);
          ASSERT_EQ(select(scores, k), expected)
              << target << " kind " << kind << " n " << n << " k " << k;
        }
      }
    }
  }
}

// Ascending, where a sample of `count` looks.
bool is_sampled(std::size_t i, std::size_t count) {
  constexpr std::size_t kSample = 1024;
  const std::size_t number = (i * kSample + count - 1) / count;
  return number < kSample && number * count / kSample == i;
}

// A first sample finds that many lie between 0.2 and 0.8, and two fifths do. A second one, of
// those, sees hardly anything but `second`.
Vector scores_that_mislead(std::size_t count, float second) {
  Vector scores(count);
  Indices inside;
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = i % 2 == 0 ? 0.1f : 0.9f;
    if (i % 10 < 4 || is_sampled(i, count)) inside.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t j = 0; j < inside.size(); ++j) {
    float& score = scores[inside[j]];
    if (is_sampled(inside[j], count))
      score = j % 4 < 2 ? 0.2f : 0.8f;
    else
      score =
          is_sampled(j, inside.size()) ? second : 0.3f + 0.3f * static_cast<float>(j % 1000) / 1000;
  }
  return scores;
}

TEST(Select, ASecondSampleThatMisleadsChangesNothing) {
  constexpr std::size_t kCount = 400'000;
  const Vector nothing(kCount, 0.0f);
  for (const float second : {0.25f, 0.7f}) {
    const Vector scores = scores_that_mislead(kCount, second);
    Indices expected;
    plain::select_largest(scores, kCount / 2, expected);
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget forced(target);
      ASSERT_EQ(select(scores, kCount / 2), expected) << target << ' ' << second;
      Vector told = nothing;
      ASSERT_EQ(take_largest_changes(scores, told, nothing, kCount / 2).indices, expected)
          << target << ' ' << second;
    }
  }
}

TEST(Select, ChangesAreTakenAndToldFromThenOn) {
  Vector told = {1, 2, 3, 4};
  const LargestChanges changes =
      take_largest_changes(Vector{1, 5, 3, 2}, told, Vector{10, 20, 30, 40}, 2);
  EXPECT_EQ(changes.indices, (Indices{1, 3}));
  EXPECT_EQ(changes.values, (Vector{5, 2}));
  EXPECT_EQ(told, (Vector{1, 20, 3, 40}));
}

TEST(Select, EveryTargetTakesThePlainVersionsChanges) {
  Random random(7);
  const auto bits = [](const Vector& v) { return hash_bytes(std::as_bytes(std::span(v))); };
  for (int kind = 0; kind <= 6; ++kind) {
    for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 2048u, 2049u, 5000u, 50'000u}) {
      const Vector now = scores_of(kind, n, random.fork("now", n)),
                   before = scores_of(kind, n, random.fork("told", n)),
                   next = scores_of(0, n, random.fork("next", n));
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 3, n - 1, n}) {
        Vector expected_told = before;
        const LargestChanges expected = plain::take_largest_changes(now, expected_told, next, k);
        for (const std::string& target : simd_targets()) {
          const UseSimdTarget forced(target);
          Vector told = before;
          const LargestChanges changes = take_largest_changes(now, told, next, k);
          ASSERT_EQ(changes.indices, expected.indices)
              << target << " kind " << kind << " n " << n << " k " << k;
          // NaNs among them.
          ASSERT_EQ(bits(changes.values), bits(expected.values)) << target;
          ASSERT_EQ(bits(told), bits(expected_told)) << target;
        }
      }
    }
  }
}

TEST(Select, ReusesItsOutput) {
  Indices chosen = {9, 9, 9};
  select_largest(Vector{1, 3, 2}, 1, chosen);
  EXPECT_EQ(chosen, Indices{1});
}

}  // namespace
}  // namespace tessera
