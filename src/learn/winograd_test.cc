// Winograd's convolutions against the formula in double precision, and their error beside that of
// the direct kernels.
#include "learn/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "learn/testing_conv.h"
#include "learn/winograd_first.h"
#include "math/simd.h"

namespace tessera {
namespace {

using testing::as_samples;
using testing::ConvOperands;

// Whole tiles and blocks, parts of both, one sample, images smaller than a tile.
const ConvShape kShapes[] = {
    {8, 8, 8, 32, 64, 5}, {5, 7, 3, 16, 16, 5}, {1, 2, 1, 16, 48, 5}, {9, 5, 17, 32, 16, 5}};
// The same of first layers.
const ConvShape kFirstShapes[] = {
    {8, 8, 8, 3, 32, 5}, {5, 7, 3, 1, 16, 5}, {1, 2, 1, 3, 48, 5}, {9, 5, 17, 20, 16, 5}};

template <typename Number>
struct Results {
  std::vector<Number> out, d_weights, d_in;
  explicit Results(const ConvOperands& o)
      : out(o.d_out.size()), d_weights(o.weights.size()), d_in(o.in.size()) {}
  bool operator==(const Results&) const = default;
};

Results<float> by_winograd(const ConvShape& s, const ConvOperands& o, WinogradSpace& space) {
  Results<float> r(o);
  winograd(s, o.in.data(), o.weights.data(), o.bias.data(), r.out.data(), space);
  winograd_backward(s, o.d_out.data(), o.turned.data(), r.d_weights.data(), r.d_in.data(), space);
  return r;
}

Results<float> by_winograd(const ConvShape& s, const ConvOperands& o) {
  WinogradSpace space(s);
  return by_winograd(s, o, space);
}

// Without d_in.
Results<float> first_by_winograd(const ConvShape& s, const ConvOperands& o,
                                 WinogradFirstSpace& space) {
  Results<float> r(o);
  winograd_first(s, as_samples(s, o.in).data(), o.weights.data(), o.bias.data(), r.out.data(),
                 space);
  winograd_first_weights(s, o.d_out.data(), r.d_weights.data(), space);
  return r;
}

Results<float> first_by_winograd(const ConvShape& s, const ConvOperands& o) {
  WinogradFirstSpace space(s);
  return first_by_winograd(s, o, space);
}

Results<float> directly(const ConvShape& s, const ConvOperands& o) {
  Results<float> r(o);
  convolve(s, o.in.data(), o.weights.data(), o.bias.data(), r.out.data());
  convolve_weights(s, o.in.data(), o.d_out.data(), r.d_weights.data());
  convolve_inputs(s, o.d_out.data(), o.turned.data(), r.d_in.data());
  return r;
}

Results<double> exactly(const ConvShape& s, const ConvOperands& o) {
  Results<double> r(o);
  for (std::size_t i = 0; i < r.out.size(); ++i) r.out[i] = double{o.bias[i % s.outputs]};
  const auto at = [&](std::size_t place, std::size_t tap, std::size_t extent) {
    return place + tap >= 2 && place + tap < extent + 2 ? place + tap - 2 : extent;
  };
  for (std::size_t i = 0; i < s.pixels() * 25; ++i) {
    const std::size_t pixel = i / 25, tap = i % 25;
    const std::size_t y = at(pixel / s.width, tap / 5, s.height);
    const std::size_t x = at(pixel % s.width, tap % 5, s.width);
    if (y == s.height || x == s.width) continue;
    for (std::size_t n = 0; n < s.batch; ++n)
      for (std::size_t c = 0; c < s.inputs; ++c) {
        const std::size_t from = ((y * s.width + x) * s.batch + n) * s.inputs + c;
        const std::size_t w = (tap * s.inputs + c) * s.outputs;
        const std::size_t to = (pixel * s.batch + n) * s.outputs;
        const double value = double{o.in[from]};
        double sum = 0;
        for (std::size_t k = 0; k < s.outputs; ++k) {
          const double weight = double{o.weights[w + k]}, back = double{o.d_out[to + k]};
          r.out[to + k] += value * weight;
          r.d_weights[w + k] += value * back;
          sum += weight * back;
        }
        r.d_in[from] += sum;
      }
  }
  return r;
}

// The root of the mean square of the errors, as a fraction of that of the exact numbers.
double error(const std::vector<float>& got, const std::vector<double>& exact) {
  double gap = 0, scale = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    gap += (double{got[i]} - exact[i]) * (double{got[i]} - exact[i]);
    scale += exact[i] * exact[i];
  }
  return std::sqrt(gap / scale);
}

TEST(Winograd, EqualsTheFormulaOnEveryTarget) {
  for (const ConvShape& shape : kShapes) {
    ASSERT_TRUE(winograd_fits(shape));
    const ConvOperands o(shape);
    const Results<double> exact = exactly(shape, o);
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget use(target);
      const Results<float> ours = by_winograd(shape, o);
      EXPECT_LT(error(ours.out, exact.out), 8e-6) << target << " height " << shape.height;
      EXPECT_LT(error(ours.d_weights, exact.d_weights), 8e-6) << target << " " << shape.height;
      EXPECT_LT(error(ours.d_in, exact.d_in), 8e-6) << target << " height " << shape.height;
    }
  }
}

TEST(Winograd, EqualsTheFormulaInAFirstLayerOnEveryTarget) {
  for (const ConvShape& shape : kFirstShapes) {
    ASSERT_TRUE(winograd_first_fits(shape));
    const ConvOperands o(shape);
    const Results<double> exact = exactly(shape, o);
    for (const std::string& target : simd_targets()) {
      const UseSimdTarget use(target);
      const Results<float> ours = first_by_winograd(shape, o);
      EXPECT_LT(error(ours.out, exact.out), 8e-6) << target << " height " << shape.height;
      EXPECT_LT(error(ours.d_weights, exact.d_weights), 8e-6) << target << " " << shape.height;
    }
  }
}

// What fewer multiplications cost: five to eight times the error of the direct kernels here.
TEST(Winograd, IsNearlyAsExactAsTheDirectKernels) {
  const ConvShape shape = kShapes[0];
  const ConvOperands o(shape);
  const Results<double> exact = exactly(shape, o);
  const Results<float> ours = by_winograd(shape, o), direct = directly(shape, o);
  constexpr double kTimes = 10;
  EXPECT_LT(error(ours.out, exact.out), kTimes * error(direct.out, exact.out));
  EXPECT_LT(error(ours.d_weights, exact.d_weights),
            kTimes * error(direct.d_weights, exact.d_weights));
  EXPECT_LT(error(ours.d_in, exact.d_in), kTimes * error(direct.d_in, exact.d_in));
}

TEST(Winograd, HasTheSameBitsOnEveryTargetWithFusedMultiplyAdds) {
  const ConvOperands o(kShapes[1]);
  std::vector<Results<float>> results;
  for (const std::string& target : simd_targets()) {
    if (!target.starts_with("AVX")) continue;
    const UseSimdTarget use(target);
    results.push_back(by_winograd(kShapes[1], o));
  }
  for (const Results<float>& result : results) EXPECT_EQ(result, results.front());
  if (results.size() < 2) GTEST_SKIP() << "this CPU has fewer than two such targets";
}

TEST(Winograd, HasTheSameBitsInAFirstLayerOnEveryTargetWithFusedMultiplyAdds) {
  for (const ConvShape& shape : kFirstShapes) {
    const ConvOperands o(shape);
    std::vector<Results<float>> results;
    for (const std::string& target : simd_targets()) {
      if (!target.starts_with("AVX")) continue;
      const UseSimdTarget use(target);
      results.push_back(first_by_winograd(shape, o));
    }
    for (const Results<float>& result : results) EXPECT_EQ(result, results.front());
    if (results.size() < 2) GTEST_SKIP() << "this CPU has fewer than two such targets";
  }
}

// Rounded factors of the products: 5% of the result, where the formula's own factors cost 0.2%. A
// few pixels of the smallest image are off by 9%.
TEST(Winograd, StaysNearTheFormulaInBf16) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16";
  for (const ConvShape& shape : kShapes) {
    const ConvOperands o(shape);
    const Results<double> exact = exactly(shape, o);
    WinogradSpace space(shape, /*bf16=*/true);
    const Results<float> ours = by_winograd(shape, o, space);
    EXPECT_LT(error(ours.out, exact.out), 0.1) << "height " << shape.height;
    EXPECT_LT(error(ours.d_weights, exact.d_weights), 0.1) << "height " << shape.height;
    EXPECT_LT(error(ours.d_in, exact.d_in), 0.1) << "height " << shape.height;
  }
}

// Blocks hold as many tiles as the batch leaves room for, and no sum shows it: what a sample gives
// depends on that sample alone, and memory that a larger batch has used leaves nothing behind.
void expect_the_same_bits_in_every_batch(bool bf16) {
  const ConvShape all = {6, 7, 9, 16, 32, 5};
  ConvShape one = all;
  one.batch = 1;
  const ConvOperands many(all);
  WinogradSpace space(all, bf16);
  const Results<float> together = by_winograd(all, many, space);
  for (const std::size_t sample : {0u, 8u}) {
    ConvOperands alone(one);
    for (std::size_t p = 0; p < all.pixels(); ++p) {
      for (std::size_t c = 0; c < all.inputs; ++c)
        alone.in[p * all.inputs + c] = many.in[(p * all.batch + sample) * all.inputs + c];
      for (std::size_t c = 0; c < all.outputs; ++c)
        alone.d_out[p * all.outputs + c] = many.d_out[(p * all.batch + sample) * all.outputs + c];
    }
    const Results<float> own = by_winograd(one, alone, space);
    WinogradSpace fresh(one, bf16);
    EXPECT_EQ(own, by_winograd(one, alone, fresh));
    for (std::size_t p = 0; p < all.pixels(); ++p) {
      for (std::size_t c = 0; c < all.inputs; ++c)
        ASSERT_EQ(own.d_in[p * all.inputs + c],
                  together.d_in[(p * all.batch + sample) * all.inputs + c]);
      for (std::size_t c = 0; c < all.outputs; ++c)
        ASSERT_EQ(own.out[p * all.outputs + c],
                  together.out[(p * all.batch + sample) * all.outputs + c]);
    }
  }
}

TEST(Winograd, GivesASampleTheSameBitsInEveryBatch) {
  expect_the_same_bits_in_every_batch(false);
  if (has_bf16()) expect_the_same_bits_in_every_batch(true);
}

TEST(Winograd, GivesASampleTheSameBitsInEveryBatchOfAFirstLayer) {
  const ConvShape all = {6, 7, 9, 3, 32, 5};
  ConvShape one = all;
  one.batch = 1;
  const ConvOperands many(all);
  WinogradFirstSpace space(all);
  const Results<float> together = first_by_winograd(all, many, space);
  for (const std::size_t sample : {0u, 8u}) {
    ConvOperands alone(one);
    for (std::size_t p = 0; p < all.pixels(); ++p)
      for (std::size_t c = 0; c < all.inputs; ++c)
        alone.in[p * all.inputs + c] = many.in[(p * all.batch + sample) * all.inputs + c];
    const Results<float> own = first_by_winograd(one, alone, space);
    EXPECT_EQ(own, first_by_winograd(one, alone));
    for (std::size_t p = 0; p < all.pixels(); ++p)
      for (std::size_t c = 0; c < all.outputs; ++c)
        ASSERT_EQ(own.out[p * all.outputs + c],
                  together.out[(p * all.batch + sample) * all.outputs + c]);
  }
}

TEST(Winograd, LeavesOtherConvolutionsToTheDirectKernels) {
  EXPECT_FALSE(winograd_fits({8, 8, 8, 32, 32, 3}));
  EXPECT_FALSE(winograd_fits({8, 8, 8, 32, 32, 5, 2}));
  EXPECT_FALSE(winograd_fits({8, 8, 8, 3, 32, 5}));
  EXPECT_FALSE(winograd_first_fits({8, 8, 8, 3, 32, 3}));
}

}  // namespace
}  // namespace tessera
