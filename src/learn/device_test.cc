#include "learn/device.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tessera {
namespace {

std::string refusal(std::string_view spec) {
  try {
    parse_device(spec);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(ParseDevice, ReadsTheKernelsOfTheCpu) {
  EXPECT_FALSE(parse_device("cpu").kernels.winograd);
  EXPECT_FALSE(parse_device("cpu:precision=fp32").kernels.bf16);
  const DeviceOptions both = parse_device("cpu:convolution=winograd,precision=bf16");
  EXPECT_TRUE(both.kernels.winograd);
  EXPECT_TRUE(both.kernels.bf16);
}

// A device's precisions are its own, and the other modes of the CPU have none.
TEST(ParseDevice, RefusesAPrecisionTheDeviceDoesNotHave) {
  EXPECT_EQ(refusal("cuda:precision=tf32"), "(accepted)");
  EXPECT_NE(refusal("cuda:precision=bf16").find("bf16"), std::string::npos);
  EXPECT_NE(refusal("cpu:precision=tf32").find("tf32"), std::string::npos);
  EXPECT_EQ(refusal("cpu:mode=reference,precision=bf16"),
            "cpu: precision: mode=reference works in float32: leave bf16 out");
  EXPECT_NE(refusal("cpu:mode=stacked,precision=bf16"), "(accepted)");
  EXPECT_EQ(refusal("cpu:mode=stacked,precision=fp32"), "(accepted)");
}

}  // namespace
}  // namespace tessera
