#include "learn/lstm_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "learn/testing.h"
#include "math/simd.h"

namespace tessera {
namespace {

using testing::normals;
using testing::relative_gap;

constexpr std::size_t kCount = 48;

// One step's numbers, and what a cell makes of them.
struct Cell {
  Vector input = normals(kCount, Random(1)), forget = normals(kCount, Random(2));
  Vector cell = normals(kCount, Random(3)), output = normals(kCount, Random(4));
  Vector before = normals(kCount, Random(5)), d_h = normals(kCount, Random(6));
  Vector c = Vector(kCount), tanh_c = Vector(kCount), h = Vector(kCount);
  Vector d_c = normals(kCount, Random(7));

  LstmGates gates() { return {input.data(), forget.data(), cell.data(), output.data()}; }
  const float* old(bool first) const { return first ? nullptr : before.data(); }
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(LstmCell, EqualsTheFormulaOnEveryTarget) {
  for (const std::string& target : simd_targets())
    for (const bool first : {true, false}) {
      const UseSimdTarget use(target);
      const Cell in;
      Cell got, wanted;
      lstm_cell(kCount, got.gates(), got.old(first), got.c.data(), got.tanh_c.data(), got.h.data());
      for (std::size_t k = 0; k < kCount; ++k) {
        const double c = sigmoid(double{in.forget[k]}) * (first ? 0 : double{in.before[k]}) +
                         sigmoid(double{in.input[k]}) * std::tanh(double{in.cell[k]});
        wanted.c[k] = static_cast<float>(c);
        wanted.tanh_c[k] = static_cast<float>(std::tanh(c));
        wanted.h[k] = static_cast<float>(sigmoid(double{in.output[k]}) * std::tanh(c));
      }
      EXPECT_LT(relative_gap(got.c, wanted.c), 1e-6) << target;
      EXPECT_LT(relative_gap(got.tanh_c, wanted.tanh_c), 1e-6) << target;
      EXPECT_LT(relative_gap(got.h, wanted.h), 1e-6) << target;
    }
}

// Against differences of (c d_c + h d_h) in double precision.
TEST(LstmCellGradient, EqualsDifferencesOnEveryTarget) {
  const Cell in;
  const auto loss = [&](std::size_t k, std::array<double, 5> x) {
    const double c = sigmoid(x[1]) * x[4] + sigmoid(x[0]) * std::tanh(x[2]);
    return c * double{in.d_c[k]} + sigmoid(x[3]) * std::tanh(c) * double{in.d_h[k]};
  };
  std::array<Vector, 5> wanted;
  for (std::size_t k = 0; k < kCount; ++k)
    for (std::size_t i = 0; i < 5; ++i) {
      std::array<double, 5> up = {double{in.input[k]}, double{in.forget[k]}, double{in.cell[k]},
                                  double{in.output[k]}, double{in.before[k]}};
      std::array<double, 5> down = up;
      up[i] += 1e-6, down[i] -= 1e-6;
      wanted[i].push_back(static_cast<float>((loss(k, up) - loss(k, down)) / 2e-6));
    }
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    Cell got;
    lstm_cell(kCount, got.gates(), got.old(false), got.c.data(), got.tanh_c.data(), got.h.data());
    lstm_cell_gradient(kCount, got.gates(), got.old(false), got.tanh_c.data(), got.d_h.data(),
                       got.d_c.data());
    const std::array<Vector, 5> gradient = {got.input, got.forget, got.cell, got.output, got.d_c};
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_LT(relative_gap(gradient[i], wanted[i]), 2e-6) << target << " operand " << i;
  }
}

TEST(SumRows, EqualsThePlainLoopOnEveryTarget) {
  const Vector rows = normals(7 * 32, Random(1));
  Vector expected(32, 0.0f);
  for (std::size_t i = 0; i < rows.size(); ++i) expected[i % 32] += rows[i];
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    Vector sums(32);
    sum_rows(7, rows.data(), sums.data());
    EXPECT_EQ(sums, expected) << target;
  }
}

}  // namespace
}  // namespace tessera
