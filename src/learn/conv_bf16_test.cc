// The convolutions in bf16 against the plain loops on factors that were rounded before.
#include "learn/conv_bf16.h"

#include <gtest/gtest.h>

#include "learn/testing_conv.h"

namespace tessera {
namespace {

using testing::ConvOperands;
using testing::relative_gap;
using testing::rounded_to_bf16;

class ConvBf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_bf16()) GTEST_SKIP() << "this CPU has no AVX-512 BF16";
  }
};

TEST_F(ConvBf16, EqualsTheFormulaOnRoundedFactors) {
  for (const ConvShape& s : testing::kConvShapes) {
    const ConvOperands o(s);
    const Vector in = rounded_to_bf16(o.in), weights = rounded_to_bf16(o.weights),
                 d_out = rounded_to_bf16(o.d_out);
    bf16::ConvSpace space(s, false);
    Vector out(d_out.size()), expected(out.size());
    bf16::convolve(s, o.in.data(), o.weights.data(), o.bias.data(), out.data(), space);
    plain::convolve(s, in.data(), weights.data(), o.bias.data(), expected.data());
    EXPECT_LT(relative_gap(out, expected), 2e-6) << "height " << s.height;

    Vector d_weights(weights.size()), d_weights_expected(weights.size());
    bf16::convolve_weights(s, o.in.data(), o.d_out.data(), d_weights.data(), space);
    plain::convolve_weights(s, in.data(), d_out.data(), d_weights_expected.data());
    EXPECT_LT(relative_gap(d_weights, d_weights_expected), 4e-6) << "height " << s.height;

    Vector d_in(in.size()), d_in_expected(in.size());
    bf16::convolve_inputs(s, o.d_out.data(), o.turned.data(), d_in.data(), space);
    plain::convolve_inputs(s, d_out.data(), weights.data(), d_in_expected.data());
    EXPECT_LT(relative_gap(d_in, d_in_expected), 4e-6) << "height " << s.height;
  }
}

// Whole and odd widths, batches and taps of a line.
TEST_F(ConvBf16, EqualsTheFormulaInTheFirstLayer) {
  for (const ConvShape s : {ConvShape{9, 13, 3, 3, 32, 5}, ConvShape{4, 8, 2, 1, 16, 3},
                            ConvShape{5, 16, 8, 2, 48, 5}}) {
    const ConvOperands o(s);
    const std::size_t line = (s.width + s.kernel - 1) * s.inputs;
    Vector lines(s.height * s.batch * line, 0.0f);
    for (std::size_t p = 0; p < s.pixels(); ++p)
      for (std::size_t n = 0; n < s.batch; ++n)
        for (std::size_t c = 0; c < s.inputs; ++c)
          lines[(p / s.width * s.batch + n) * line + (p % s.width + s.kernel / 2) * s.inputs + c] =
              o.in[(p * s.batch + n) * s.inputs + c];
    bf16::ConvSpace space(s, true);
    Vector out(o.d_out.size()), expected(out.size());
    bf16::convolve_first(s, lines.data(), o.weights.data(), o.bias.data(), out.data(), space);
    plain::convolve(s, rounded_to_bf16(o.in).data(), rounded_to_bf16(o.weights).data(),
                    o.bias.data(), expected.data());
    EXPECT_LT(relative_gap(out, expected), 2e-6) << "height " << s.height;
    Vector d_weights(o.weights.size()), d_expected(o.weights.size());
    bf16::convolve_first_weights(s, lines.data(), o.d_out.data(), d_weights.data(), space);
    plain::convolve_weights(s, rounded_to_bf16(o.in).data(), rounded_to_bf16(o.d_out).data(),
                            d_expected.data());
    EXPECT_LT(relative_gap(d_weights, d_expected), 4e-6) << "height " << s.height;
  }
}

// Memory that a larger batch has used leaves nothing behind.
TEST_F(ConvBf16, GivesASmallerBatchTheSameBits) {
  ConvShape s = testing::kConvShapes[3];
  bf16::ConvSpace used(s, false);
  const ConvOperands many(s);
  Vector out(many.d_out.size()), d_weights(many.weights.size());
  bf16::convolve(s, many.in.data(), many.weights.data(), nullptr, out.data(), used);
  bf16::convolve_weights(s, many.in.data(), many.d_out.data(), d_weights.data(), used);
  s.batch = 5;
  const ConvOperands few(s);
  bf16::ConvSpace fresh(s, false);
  Vector other(few.d_out.size()), d_other(few.weights.size());
  out.resize(other.size());
  bf16::convolve(s, few.in.data(), few.weights.data(), nullptr, out.data(), used);
  bf16::convolve(s, few.in.data(), few.weights.data(), nullptr, other.data(), fresh);
  EXPECT_EQ(out, other);
  bf16::convolve_weights(s, few.in.data(), few.d_out.data(), d_weights.data(), used);
  bf16::convolve_weights(s, few.in.data(), few.d_out.data(), d_other.data(), fresh);
  EXPECT_EQ(d_weights, d_other);
}

}  // namespace
}  // namespace tessera
