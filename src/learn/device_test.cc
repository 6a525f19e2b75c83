#include "learn/device.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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
  const CpuKernels tiles = parse_device("cpu:convolution=amx,precision=bf16").kernels;
  EXPECT_TRUE(tiles.amx);
  EXPECT_FALSE(tiles.winograd);
}

TEST(ParseDevice, ReadsWhichGpus) {
  using Gpus = std::vector<int>;
  EXPECT_TRUE(parse_device("cpu").gpus.empty());
  for (const auto& [spec, gpus] :
       {std::pair("cuda", Gpus{0}), std::pair("cuda:index=1", Gpus{1}),
        std::pair("cuda:3", Gpus{3}), std::pair("cuda:0-3", Gpus{0, 1, 2, 3}),
        std::pair("cuda:index=0-3", Gpus{0, 1, 2, 3}), std::pair("cuda:0/2", Gpus{0, 2}),
        std::pair("cuda:4-5/1", Gpus{4, 5, 1}), std::pair("cuda:0/0,chunk=8", Gpus{0, 0}),
        std::pair("cuda:chunk=8,index=7", Gpus{7})}) {
    const DeviceOptions device = parse_device(spec);
    EXPECT_EQ(device.gpus, gpus) << spec;
    EXPECT_EQ(device.index, gpus.front()) << spec;
  }
  EXPECT_EQ(parse_device("cuda:0-1,chunk=8").chunk, 8u);
}

TEST(ParseDevice, LeavesOutWhereTheWorkIsDone) {
  for (const auto& [spec, rest] :
       {std::pair("cpu", "cpu"), std::pair("cuda:0-3", "cuda"), std::pair("cuda:index=1", "cuda"),
        std::pair("cuda:2,precision=tf32,chunk=8,graphs=no", "cuda:precision=tf32"),
        std::pair("cpu:convolution=winograd", "cpu:convolution=winograd"),
        std::pair("cuda:memory=40GiB,deterministic=yes", "cuda:deterministic=yes")})
    EXPECT_EQ(without_place(spec), rest);
}

TEST(ParseDevice, RefusesGpusThatCannotBe) {
  EXPECT_EQ(refusal("cuda:3-0"), "cuda: index: 3-0 has its larger end first: write 0-3");
  EXPECT_EQ(refusal("cuda:0-999"),
            "cuda: index: 0-999 are 1000 GPUs: name 1 to 64, as in 0-3 or 0/2");
  EXPECT_NE(refusal("cuda:0-3,index=1").find("'index' is given twice"), std::string::npos);
  EXPECT_EQ(refusal("cuda:0+2"), "cuda: index: '0+2' is no GPU's number: write 0, 0-3 or 0/2");
  for (const char* spec : {"cuda:1024", "cuda:0.5", "cuda:0-", "cuda:0/", "cuda:0-1-2",
                           "cuda:index=-1", "cuda:index=", "cuda:index=x"})
    EXPECT_NE(refusal(spec), "(accepted)") << spec;
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
  EXPECT_EQ(refusal("cpu:convolution=amx"),
            "cpu: convolution: amx multiplies bf16 alone: add precision=bf16");
}

}  // namespace
}  // namespace tessera
