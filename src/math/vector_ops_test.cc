#include "math/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/ids.h"
#include "base/random.h"
#include "math/simd.h"

namespace tessera {
namespace {

Vector random_vector(std::size_t n, Random random) {
  Vector x(n);
  for (float& v : x) v = static_cast<float>(random.normal());
  return x;
}

// Runs `fast` and `plain` on equal starts, for every target and for lengths around the vector
// sizes.
template <typename Fast, typename Plain>
void expect_same_bits(Fast fast, Plain plain) {
  for (const std::size_t n : {0u, 1u, 3u, 4u, 8u, 15u, 16u, 17u, 64u, 1001u}) {
    const Vector start = random_vector(n, Random(1)), y = random_vector(n, Random(2)),
                 z = random_vector(n, Random(3));
    Vector expected = start;
    plain(expected, y, z);
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget forced(target);
      Vector x = start;
      fast(x, y, z);
      EXPECT_EQ(x, expected) << target << " n " << n;
    }
  }
}

TEST(VectorOps, EveryTargetGivesTheSameBits) {
  using V = Vector;
  using C = const Vector;
  expect_same_bits([](V& x, C& y, C&) { add(x, y); }, [](V& x, C& y, C&) { plain::add(x, y); });
  expect_same_bits([](V& x, C& y, C&) { add_scaled(x, 0.3f, y); },
                   [](V& x, C& y, C&) { plain::add_scaled(x, 0.3f, y); });
  expect_same_bits([](V& x, C& y, C& z) { subtract(y, z, x); },
                   [](V& x, C& y, C& z) { plain::subtract(y, z, x); });
  const auto copies = [](const V& x) {
    Indices counts(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) counts[i] = static_cast<std::uint32_t>(1 + i % 7);
    return counts;
  };
  expect_same_bits([&](V& x, C&, C&) { divide_by_copies(x, copies(x)); },
                   [&](V& x, C&, C&) { plain::divide_by_copies(x, copies(x)); });
}

// Sixteen sums and a rest; squares of the largest values are finite, and nothing hides one that is
// not.
TEST(VectorOps, SquaredNormIsFiniteWhereAllValuesAre) {
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 16u, 1001u}) {
    EXPECT_EQ(squared_norm(Vector(n, 2.0f)), 4.0 * static_cast<double>(n));
    EXPECT_TRUE(std::isfinite(squared_norm(Vector(n, std::numeric_limits<float>::max()))));
    for (std::size_t i = 0; i < n; ++i) {
      Vector x(n, 1.0f);
      x[i] = i % 2 ? std::nanf("") : -std::numeric_limits<float>::infinity();
      EXPECT_FALSE(std::isfinite(squared_norm(x)));
    }
  }
}

TEST(VectorOps, SquaredNormHasTheSameBitsOnEveryTarget) {
  for (const std::size_t n : {1u, 8u, 15u, 16u, 33u, 1001u}) {
    const Vector x = random_vector(n, Random(4));
    double sums[16] = {};
    for (std::size_t i = 0; i < n; ++i) sums[i % 16] += static_cast<double>(x[i]) * x[i];
    const double expected = std::accumulate(std::begin(sums), std::end(sums), 0.0);
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget forced(target);
      EXPECT_EQ(squared_norm(x), expected) << target << " n " << n;
    }
  }
}

// Own copy 1, two copies of the first coordinate (2 and 6), none of the second: means 3 and 1.
TEST(VectorOps, CopiesAverageWhereTheyArePresent) {
  Vector sum = {1, 1};
  Indices copies = {1, 1};
  add_at(sum, copies, Indices{0}, Vector{2});
  add_at(sum, copies, Indices{0}, Vector{6});
  divide_by_copies(sum, copies);
  EXPECT_EQ(sum, (Vector{3, 1}));
}

}  // namespace
}  // namespace tessera
