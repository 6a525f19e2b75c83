// The convolutions in AMX's tiles against the plain loops on factors that were rounded before.
#include "learn/conv_amx.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/amx.h"
#include "learn/conv_amx_first.h"
#include "learn/testing_conv.h"

namespace tessera {
namespace {

using testing::ConvOperands;
using testing::relative_gap;
using testing::rounded_to_bf16;

class ConvAmx : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_amx()) GTEST_SKIP() << "this CPU has no AMX, or the system keeps it to itself";
  }
};

TEST_F(ConvAmx, EqualsTheFormulaOnRoundedFactors) {
  for (const ConvShape& s : testing::kConvShapes) {
    const ConvOperands o(s);
    const Vector in = rounded_to_bf16(o.in), weights = rounded_to_bf16(o.weights);
    const Vector d_out = rounded_to_bf16(o.d_out);
    amx::ConvSpace space(s);
    Vector out(d_out.size()), expected(out.size());
    amx::convolve(s, o.in.data(), o.weights.data(), o.bias.data(), out.data(), space);
    plain::convolve(s, in.data(), weights.data(), o.bias.data(), expected.data());
    EXPECT_LT(relative_gap(out, expected), 2e-6) << "height " << s.height;

    Vector d_weights(weights.size()), d_weights_expected(weights.size());
    amx::convolve_weights(s, o.in.data(), o.d_out.data(), d_weights.data(), space);
    plain::convolve_weights(s, in.data(), d_out.data(), d_weights_expected.data());
    EXPECT_LT(relative_gap(d_weights, d_weights_expected), 4e-6) << "height " << s.height;

    Vector d_in(in.size()), d_in_expected(in.size());
    amx::convolve_inputs(s, o.d_out.data(), o.turned.data(), d_in.data(), space);
    plain::convolve_inputs(s, d_out.data(), weights.data(), d_in_expected.data());
    EXPECT_LT(relative_gap(d_in, d_in_expected), 4e-6) << "height " << s.height;
  }
}

// Lines of one tile, of parts of one and of several; kernels of one, three and five lines.
TEST_F(ConvAmx, EqualsTheFormulaInTheFirstLayer) {
  for (const ConvShape s :
       {ConvShape{9, 13, 3, 3, 32, 5}, ConvShape{4, 8, 2, 1, 16, 3}, ConvShape{5, 16, 8, 2, 48, 5},
        ConvShape{3, 70, 1, 5, 64, 3}, ConvShape{6, 32, 2, 16, 16, 1}}) {
    ASSERT_TRUE(amx::first_fits(s));
    const ConvOperands o(s);
    const Vector samples = testing::as_samples(s, o.in);
    amx::FirstSpace space(s);
    Vector out(o.d_out.size()), expected(out.size());
    amx::convolve_first(s, samples.data(), o.weights.data(), o.bias.data(), out.data(), space);
    plain::convolve(s, rounded_to_bf16(o.in).data(), rounded_to_bf16(o.weights).data(),
                    o.bias.data(), expected.data());
    EXPECT_LT(relative_gap(out, expected), 2e-6) << "height " << s.height;
    Vector d_weights(o.weights.size()), d_expected(o.weights.size());
    amx::convolve_first_weights(s, o.d_out.data(), d_weights.data(), space);
    plain::convolve_weights(s, rounded_to_bf16(o.in).data(), rounded_to_bf16(o.d_out).data(),
                            d_expected.data());
    EXPECT_LT(relative_gap(d_weights, d_expected), 4e-6) << "height " << s.height;
  }
}

// To the bit: a 1x1 convolution is a matrix product, whose sums are as amx.h has them.
TEST_F(ConvAmx, AddsUpAsTheInstructionIsDefined) {
  const ConvShape s{2, 5, 3, 96, 32, 1};
  const ConvOperands o(s);
  const Vector in = rounded_to_bf16(o.in), weights = rounded_to_bf16(o.weights);
  amx::ConvSpace space(s);
  Vector out(o.d_out.size()), expected(out.size());
  amx::convolve(s, o.in.data(), o.weights.data(), o.bias.data(), out.data(), space);
  for (std::size_t row = 0; row < s.pixels() * s.batch; ++row)
    for (std::size_t column = 0; column < s.outputs; ++column) {
      float sum = o.bias[column];
      for (std::size_t first = 0; first < s.inputs; first += 32) {
        float even = 0, odd = 0;
        for (std::size_t k = first; k < first + 32; k += 2) {
          even = std::fma(in[row * s.inputs + k], weights[k * s.outputs + column], even);
          odd = std::fma(in[row * s.inputs + k + 1], weights[(k + 1) * s.outputs + column], odd);
        }
        sum += even + odd;
      }
      expected[row * s.outputs + column] = sum;
    }
  EXPECT_EQ(out, expected);
}

// Memory that a larger batch has used leaves nothing behind, not even what is no number.
TEST_F(ConvAmx, GivesASmallerBatchTheSameBits) {
  ConvShape s{6, 6, 11, 32, 32, 3};
  amx::ConvSpace used(s);
  ConvOperands many(s);
  many.in.assign(many.in.size(), std::nanf("1"));
  Vector out(many.d_out.size()), d_weights(many.weights.size());
  amx::convolve(s, many.in.data(), many.weights.data(), nullptr, out.data(), used);
  amx::convolve_weights(s, many.in.data(), many.in.data(), d_weights.data(), used);
  s.batch = 5;
  const ConvOperands few(s);
  amx::ConvSpace fresh(s);
  Vector other(few.d_out.size()), d_other(few.weights.size());
  out.resize(other.size());
  amx::convolve(s, few.in.data(), few.weights.data(), nullptr, out.data(), used);
  amx::convolve(s, few.in.data(), few.weights.data(), nullptr, other.data(), fresh);
  EXPECT_EQ(out, other);
  amx::convolve_weights(s, few.in.data(), few.d_out.data(), d_weights.data(), used);
  amx::convolve_weights(s, few.in.data(), few.d_out.data(), d_other.data(), fresh);
  EXPECT_EQ(d_weights, d_other);
}

TEST(ConvAmxFirst, FitsWhatATileIsDeepEnoughFor) {
  EXPECT_TRUE(amx::first_fits({32, 32, 8, 3, 32, 5}));
  EXPECT_FALSE(amx::first_fits({32, 32, 8, 4, 32, 5}));
  EXPECT_FALSE(amx::first_fits({32, 32, 8, 1, 32, 3, 2}));
}

}  // namespace
}  // namespace tessera
