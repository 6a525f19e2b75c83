#include "math/pull.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

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

// Three coordinates; a neighbour told the last two with weight 1/4: 2 + (6 - 2)/4 = 3 and 3 + (7 -
// 3)/4 = 4. Another told all with weight 1/2: 1 + (3 - 1)/2 = 2, and half of nothing.
TEST(Pull, MovesOnlyWhatWasTold) {
  const Indices where = {1, 2};
  const Vector some = {6, 7}, all = {3, 2, 3};
  Vector x = {1, 2, 3};
  pull(x,
       std::vector<Copy>{{.weight = 0.25f, .values = some, .everything = false, .indices = where},
                         {.weight = 0.5f, .values = all}});
  EXPECT_EQ(x, (Vector{2, 3, 4}));
}

TEST(Pull, LeavesAloneWhatNobodyTold) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Indices where = {0};
  const Vector one = {3}, whole = {1, kInfinity};
  Vector x = {1, kInfinity};
  pull(x, std::vector<Copy>{{.weight = 0.5f, .values = one, .everything = false, .indices = where},
                            {.weight = 0.25f, .values = whole}});
  EXPECT_EQ(x, (Vector{2, kInfinity}));
}

// A tenth of them infinite and another tenth no numbers.
Vector with_what_cannot_be_pulled(Vector x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k % 10 == 3) x[k] = k % 4 < 2 ? kInfinity : -kInfinity;
    if (k % 10 == 7) x[k] = std::numeric_limits<float>::quiet_NaN();
  }
  return x;
}

// Around the lengths of vectors and of blocks; copies dense and sparse, whole and empty. What is no
// finite number is told as it is.
TEST(Pull, EveryTargetEqualsThePlainVersion) {
  for (const std::size_t n : {1u, 7u, 16u, 17u, 2047u, 2048u, 2049u, 10'000u}) {
    const Random root(n);
    const Vector start = with_what_cannot_be_pulled(random_vector(n, root.fork("start")));
    std::vector<Vector> values;
    std::vector<Indices> indices(5);
    for (std::size_t j = 0; j < indices.size(); ++j) {
      Random random = root.fork("copy", j);
      Vector all = random_vector(n, random), some;
      for (std::size_t k = 0; k < n; ++k)
        if (!std::isfinite(start[k])) all[k] = start[k];
      for (std::uint32_t k = 0; k < n; ++k)
        if (random.uniform() < 0.3 * static_cast<double>(j)) indices[j].push_back(k);
      for (const std::uint32_t k : indices[j]) some.push_back(random.below(9) ? all[k] : start[k]);
      values.push_back(j == 4 ? std::move(all) : std::move(some));
    }
    std::vector<Copy> copies;
    for (std::size_t j = 0; j < indices.size(); ++j)
      copies.push_back({.weight = 0.1f + 0.01f * static_cast<float>(j),
                        .values = values[j],
                        .everything = j == 4,
                        .indices = indices[j]});
    Vector expected = start;
    plain::pull(expected, copies);
    for (std::size_t k = 0; k < n; ++k)
      ASSERT_EQ(std::isfinite(expected[k]), std::isfinite(start[k])) << "n " << n << " at " << k;
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget forced(target);
      Vector x = start;
      pull(x, copies);
      EXPECT_EQ(std::memcmp(x.data(), expected.data(), n * sizeof(float)), 0)
          << target << " n " << n;
    }
  }
}

}  // namespace
}  // namespace tessera
