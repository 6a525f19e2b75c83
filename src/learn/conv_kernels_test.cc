#include "learn/conv_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <vector>

#include "learn/testing.h"
#include "learn/testing_conv.h"
#include "math/simd.h"

namespace tessera {
namespace {

using testing::ConvOperands;
using testing::kConvShapes;
using testing::normals;
using testing::relative_gap;

TEST(Convolve, EqualsTheFormulaOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const ConvShape& shape : kConvShapes) {
      const ConvOperands o(shape);
      Vector out(o.d_out.size()), expected(o.d_out.size());
      convolve(shape, o.in.data(), o.weights.data(), o.bias.data(), out.data());
      plain::convolve(shape, o.in.data(), o.weights.data(), o.bias.data(), expected.data());
      EXPECT_LT(relative_gap(out, expected), 2e-6) << target << " height " << shape.height;
      Vector d_weights(o.weights.size()), d_expected(o.weights.size());
      convolve_weights(shape, o.in.data(), o.d_out.data(), d_weights.data());
      plain::convolve_weights(shape, o.in.data(), o.d_out.data(), d_expected.data());
      EXPECT_LT(relative_gap(d_weights, d_expected), 4e-6) << target << " height " << shape.height;
    }
  }
}

// The layout of the first layer is another, the sums are the same.
TEST(ConvolveFirst, EqualsTheFormulaOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const ConvShape shape : {ConvShape{9, 13, 3, 3, 32, 5}, ConvShape{4, 8, 2, 1, 16, 3}}) {
      const ConvOperands o(shape);
      const std::size_t line = (shape.width + shape.kernel - 1) * shape.inputs;
      Vector lines(shape.height * shape.batch * line, 0.0f);
      for (std::size_t p = 0; p < shape.pixels(); ++p)
        for (std::size_t n = 0; n < shape.batch; ++n)
          for (std::size_t c = 0; c < shape.inputs; ++c)
            lines[(p / shape.width * shape.batch + n) * line +
                  (p % shape.width + shape.kernel / 2) * shape.inputs + c] =
                o.in[(p * shape.batch + n) * shape.inputs + c];
      Vector out(o.d_out.size()), expected(o.d_out.size());
      convolve_first(shape, lines.data(), o.weights.data(), o.bias.data(), out.data());
      plain::convolve(shape, o.in.data(), o.weights.data(), o.bias.data(), expected.data());
      EXPECT_LT(relative_gap(out, expected), 2e-6) << target;
      Vector d_weights(o.weights.size()), d_expected(o.weights.size());
      convolve_first_weights(shape, lines.data(), o.d_out.data(), d_weights.data());
      plain::convolve_weights(shape, o.in.data(), o.d_out.data(), d_expected.data());
      EXPECT_LT(relative_gap(d_weights, d_expected), 4e-6) << target;
    }
  }
}

TEST(TurnWeights, MovesWhatThePlainLoopsMoveOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    std::vector<ConvShape> shapes(std::begin(kConvShapes), std::end(kConvShapes));
    shapes.push_back({4, 4, 2, 3, 32, 5});
    for (const ConvShape& shape : shapes) {
      const ConvOperands o(shape);
      Vector turned(o.weights.size()), expected(o.weights.size());
      turn_weights(shape, o.weights.data(), turned.data());
      plain::turn_weights(shape, o.weights.data(), expected.data());
      EXPECT_EQ(turned, expected) << target << " height " << shape.height;
    }
  }
}

TEST(ConvolveInputs, EqualsTheFormulaOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const ConvShape& shape : kConvShapes) {
      const ConvOperands o(shape);
      Vector d_in(o.in.size()), expected(o.in.size()), turned(o.weights.size());
      turn_weights(shape, o.weights.data(), turned.data());
      convolve_inputs(shape, o.d_out.data(), turned.data(), d_in.data());
      plain::convolve_inputs(shape, o.d_out.data(), o.weights.data(), expected.data());
      EXPECT_LT(relative_gap(d_in, expected), 4e-6) << target << " height " << shape.height;
    }
  }
}

// <convolve(x), g> = <x, convolve_inputs(g)>: the definition of the gradient with respect to x.
TEST(ConvolveInputs, IsTheAdjointOfTheConvolution) {
  for (const ConvShape& shape : kConvShapes) {
    const ConvOperands o(shape);
    Vector out(o.d_out.size()), d_in(o.in.size()), turned(o.weights.size());
    convolve(shape, o.in.data(), o.weights.data(), nullptr, out.data());
    turn_weights(shape, o.weights.data(), turned.data());
    convolve_inputs(shape, o.d_out.data(), turned.data(), d_in.data());
    double forth = 0, and_back = 0, scale = 0;
    for (std::size_t i = 0; i < out.size(); ++i) forth += double{out[i]} * double{o.d_out[i]};
    for (std::size_t i = 0; i < d_in.size(); ++i) and_back += double{d_in[i]} * double{o.in[i]};
    for (const float value : out) scale += double{value} * double{value};
    EXPECT_NEAR(forth, and_back, 1e-5 * std::sqrt(scale)) << shape.height;
  }
}

TEST(Linear, EqualsTheFormulaOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const LinearShape s : {LinearShape{8, 1024, 10}, LinearShape{3, 37, 5},
                                LinearShape{13, 16, 1}, LinearShape{1, 3, 62}}) {
      const Vector in = normals(s.batch * s.inputs, Random(1));
      const Vector weights = normals(s.inputs * s.outputs, Random(2));
      const Vector bias = normals(s.outputs, Random(3));
      const Vector d_out = normals(s.batch * s.outputs, Random(4));
      Vector out(d_out.size()), expected(d_out.size());
      linear(s, in.data(), weights.data(), bias.data(), out.data());
      plain::linear(s, in.data(), weights.data(), bias.data(), expected.data());
      EXPECT_LT(relative_gap(out, expected), 2e-6) << target << " inputs " << s.inputs;

      Vector d_in(in.size()), d_in_expected(in.size(), 0.0f);
      Vector d_weights(weights.size()), d_weights_expected(weights.size(), 0.0f);
      const std::size_t half = s.outputs / 2;
      for (const OutputRange range : {OutputRange{0, half}, OutputRange{half, s.outputs - half}}) {
        linear_inputs(s, d_out.data(), weights.data(), range, d_in.data());
        linear_weights(s, in.data(), d_out.data(), range, &d_weights[range.first * s.inputs]);
      }
      for (std::size_t n = 0; n < s.batch; ++n)
        for (std::size_t k = 0; k < s.outputs; ++k)
          for (std::size_t i = 0; i < s.inputs; ++i) {
            d_in_expected[n * s.inputs + i] += d_out[n * s.outputs + k] * weights[k * s.inputs + i];
            d_weights_expected[k * s.inputs + i] += d_out[n * s.outputs + k] * in[n * s.inputs + i];
          }
      EXPECT_LT(relative_gap(d_in, d_in_expected), 2e-6) << target << " inputs " << s.inputs;
      EXPECT_LT(relative_gap(d_weights, d_weights_expected), 2e-6) << target;
    }
  }
}

// Products are fused with their sums in columns that fill sixteens and rounded by themselves in the
// rest, so that layers of any width have the same bits with vectors of eight and of sixteen.
TEST(Linear, FusesTheSameColumnsOnEveryTargetWithFusedMultiplyAdds) {
  const LinearShape s{8, 40, 20};
  const OutputRange all{0, s.outputs};
  const Vector in = normals(s.batch * s.inputs, Random(1));
  const Vector weights = normals(s.inputs * s.outputs, Random(2));
  const Vector d_out = normals(s.batch * s.outputs, Random(4));
  const auto add = [](float x, float y, float sum, std::size_t column) {
    return column < 32 ? std::fma(x, y, sum) : sum + x * y;
  };
  Vector d_in_expected(in.size(), 0.0f), d_weights_expected(weights.size(), 0.0f);
  for (std::size_t n = 0; n < s.batch; ++n)
    for (std::size_t k = 0; k < s.outputs; ++k)
      for (std::size_t i = 0; i < s.inputs; ++i) {
        float &a = d_in_expected[n * s.inputs + i], &b = d_weights_expected[k * s.inputs + i];
        a = add(d_out[n * s.outputs + k], weights[k * s.inputs + i], a, i);
        b = add(d_out[n * s.outputs + k], in[n * s.inputs + i], b, i);
      }
  for (const std::string& target : simd_targets()) {
    if (!target.starts_with("AVX")) continue;
    const UseSimdTarget use(target);
    Vector d_in(in.size()), d_weights(weights.size());
    linear_inputs(s, d_out.data(), weights.data(), all, d_in.data());
    linear_weights(s, in.data(), d_out.data(), all, d_weights.data());
    EXPECT_EQ(d_in, d_in_expected) << target;
    EXPECT_EQ(d_weights, d_weights_expected) << target;
  }
}

// Sums run in the order of k, whatever the width of a vector: targets with fused multiply-adds
// agree to the bit.
TEST(Convolve, HasTheSameBitsOnEveryTargetWithFusedMultiplyAdds) {
  const ConvShape shape = kConvShapes[0];
  const ConvOperands o(shape);
  std::vector<Vector> results;
  for (const std::string& target : simd_targets()) {
    if (!target.starts_with("AVX")) continue;
    const UseSimdTarget use(target);
    Vector& result = results.emplace_back(o.d_out.size() + 8 * 10);
    convolve(shape, o.in.data(), o.weights.data(), o.bias.data(), result.data());
    linear({8, 1000, 10}, o.in.data(), o.weights.data(), o.bias.data(),
           result.data() + o.d_out.size());
  }
  for (const Vector& result : results) EXPECT_EQ(result, results.front());
  if (results.size() < 2) GTEST_SKIP() << "this CPU has fewer than two such targets";
}

}  // namespace
}  // namespace tessera
