#include "learn/norm_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learn/testing.h"
#include "math/simd.h"

namespace tessera {
namespace {

using testing::normals;
using testing::relative_gap;

constexpr PoolShape kShape{.height = 3, .width = 5, .columns = 48};
constexpr std::size_t kCount = 3 * 5 * 48;

TEST(ScaleAndShift, EqualsTheFormulaBothWaysOnEveryTarget) {
  const Vector x = normals(kCount, Random(1)), dy = normals(kCount, Random(2));
  const Vector scale = normals(48, Random(3)), shift = normals(48, Random(4));
  const Vector slope = normals(48, Random(5)), offset = normals(48, Random(6));
  Vector y(kCount), cut(kCount), dx(kCount), d_shift(48, 0.0f), d_scale(48, 0.0f);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t c = i % 48;
    y[i] = scale[c] * x[i] + shift[c];
    cut[i] = std::max(y[i], 0.0f);
    dx[i] = scale[c] * dy[i] + slope[c] * x[i] + offset[c];
    d_shift[c] += dy[i];
    d_scale[c] += dy[i] * (x[i] - shift[c]);
  }
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    Vector out(kCount), sums(48), products(48);
    scale_and_shift(kShape, x.data(), scale.data(), shift.data(), false, out.data());
    EXPECT_LT(relative_gap(out, y), 1e-6) << target;
    scale_and_shift(kShape, x.data(), scale.data(), shift.data(), true, out.data());
    EXPECT_LT(relative_gap(out, cut), 1e-6) << target;
    scale_and_shift_gradient(kShape, x.data(), dy.data(),
                             {scale.data(), slope.data(), offset.data()}, out.data());
    EXPECT_LT(relative_gap(out, dx), 1e-6) << target;
    scale_and_shift_sums(kShape, x.data(), dy.data(), shift.data(), sums.data(), products.data());
    EXPECT_LT(relative_gap(sums, d_shift), 1e-5) << target;
    EXPECT_LT(relative_gap(products, d_scale), 1e-5) << target;
  }
}

// Any number of values, and a NaN stays one.
TEST(Relu, EqualsTheFormulaBothWaysOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const std::size_t count : {1u, 16u, 37u}) {
      Vector x = normals(count, Random(1)), y(count), dy = normals(count, Random(2));
      const Vector before = dy;
      x[0] = std::numeric_limits<float>::quiet_NaN();
      relu(count, x.data(), y.data());
      relu_gradient(count, y.data(), dy.data());
      EXPECT_TRUE(std::isnan(y[0])) << target;
      EXPECT_EQ(dy[0], before[0]) << target;
      for (std::size_t i = 1; i < count; ++i) {
        EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0) << target;
        EXPECT_EQ(dy[i], x[i] > 0 ? before[i] : 0) << target;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
