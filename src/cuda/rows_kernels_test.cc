// Kernels that walk over rows beside plain loops, whose order of sums is theirs: equal to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/for_tests.h"
#include "cuda/kernels.h"
#include "cuda/poisoned_for_tests.h"

namespace tessera::cuda {
namespace {

constexpr std::size_t kNodes = 3, kBatch = 5, kRows = kNodes * kBatch, kWidth = 37;
constexpr std::size_t kPixels = 7, kChannels = 23;

Pass pass_of() {
  return {.nodes = static_cast<int>(kNodes), .batch = static_cast<int>(kBatch)};
}

TEST(CudaRows, Add) {
  SKIP_WITHOUT_GPU();
  const Numbers a(kRows * kWidth, 1), b(kRows * kWidth, 2);
  for (const bool relu : {false, true}) {
    const Poisoned out(kRows * kWidth);
    add_rows(pass_of(), kWidth, a.device(), b.device(), relu, out.device());
    Vector wanted(kRows * kWidth);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = a.host[i] + b.host[i];
      if (relu) wanted[i] = std::max(wanted[i], 0.0f);
    }
    EXPECT_EQ(out.back(), wanted);
  }
}

TEST(CudaRows, MaskGradientsWhereReluMadeZeros) {
  SKIP_WITHOUT_GPU();
  Numbers out(kRows * kWidth, 1);
  const Numbers d_out(kRows * kWidth, 2);
  for (float& value : out.host) value = std::max(value, 0.0f);
  out.send();
  mask_rows(pass_of(), kWidth, out.device(), d_out.device());
  Vector wanted = d_out.host;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (out.host[i] == 0) wanted[i] = 0;
  EXPECT_EQ(d_out.back(), wanted);
  EXPECT_EQ(out.back(), out.host);
}

TEST(CudaRows, Copy) {
  SKIP_WITHOUT_GPU();
  const Numbers from(kRows * kWidth, 1);
  const Poisoned to(kRows * kWidth);
  copy_rows(pass_of(), kWidth, from.device(), to.device());
  EXPECT_EQ(to.back(), from.host);
}

TEST(CudaRows, MeanOverPixels) {
  SKIP_WITHOUT_GPU();
  const Numbers in(kRows * kPixels * kChannels, 1);
  const Poisoned out(kRows * kChannels);
  mean_pool(pass_of(), kPixels, kChannels, in.device(), out.device());
  Vector wanted;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      float sum = 0;
      for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
        sum += in.host[(row * kPixels + pixel) * kChannels + channel];
      wanted.push_back(sum / float{kPixels});
    }
  EXPECT_EQ(out.back(), wanted);
}

TEST(CudaRows, GradientOfTheMean) {
  SKIP_WITHOUT_GPU();
  const Numbers d_out(kRows * kChannels, 1);
  const Poisoned d_in(kRows * kPixels * kChannels);
  mean_pool_gradient(pass_of(), kPixels, kChannels, d_out.device(), d_in.device());
  Vector wanted;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
      for (std::size_t channel = 0; channel < kChannels; ++channel)
        wanted.push_back(d_out.host[row * kChannels + channel] / float{kPixels});
  EXPECT_EQ(d_in.back(), wanted);
}

// To more places than there were, some twice and some from nowhere.
TEST(CudaRows, Gather) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kFrom = 90, kTo = 300;
  const Numbers from(kNodes * kFrom, 1);
  std::vector<std::uint32_t> map = drawn_below(kFrom, kTo, 2);
  for (std::size_t i = 3; i < kTo; i += 7) map[i] = kNowhere;
  const DeviceArray<std::uint32_t> device_map = sent(map);
  const Poisoned to(kNodes * kTo);
  gather(nullptr, kNodes, device_map.data(), kFrom, from.device(), kTo, to.device());
  Vector wanted;
  for (std::size_t node = 0; node < kNodes; ++node)
    for (const std::uint32_t at : map)
      wanted.push_back(at == kNowhere ? 0 : from.host[node * kFrom + at]);
  EXPECT_EQ(to.back(), wanted);
}

}  // namespace
}  // namespace tessera::cuda
