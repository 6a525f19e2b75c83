// Tests of this folder need a GPU; where there is none they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/runtime.h"
#include "learn/testing.h"

namespace tessera::cuda {

// Empty where GPU 0 can be used.
inline std::string why_no_gpu() {
  try {
    use_gpu(0);
    return {};
  } catch (const std::exception& why) {
    return why.what();
  }
}

// How many samples models are tested on. 0: all, too many where the GPU is emulated.
constexpr std::size_t kTested = kEmulated ? 40 : 0;

// Of several ways to ask for much the same: all, or the last where the GPU is emulated.
template <std::size_t kCount>
std::span<const char* const> some_of(const char* const (&ways)[kCount]) {
  return std::span(ways).last(kEmulated ? 1 : kCount);
}

using Doubles = std::vector<double>;

// Floats on both sides, filled from a seed.
class Numbers {
 public:
  explicit Numbers(std::size_t size, std::uint64_t seed)
      : host(testing::normals(size, Random(seed))), device_(size) {
    send();
  }
  void send() const { upload_now(device_.data(), host.data(), host.size() * sizeof(float)); }
  float* device() const { return device_.data(); }
  Vector back() const {
    Vector values(host.size());
    require(cudaMemcpy(values.data(), device_.data(), values.size() * sizeof(float),
                       cudaMemcpyDeviceToHost),
            "a copy");
    return values;
  }

  Vector host;

 private:
  DeviceArray<float> device_;
};

// Root mean square of the difference, as a fraction of that of `wanted`.
inline double error_of(const Vector& got, const Doubles& wanted) {
  double gap = 0, scale = 1e-300;
  EXPECT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    gap += (double{got[i]} - wanted[i]) * (double{got[i]} - wanted[i]);
    scale += wanted[i] * wanted[i];
  }
  return std::sqrt(gap / scale);
}

}  // namespace tessera::cuda

#define SKIP_WITHOUT_GPU() \
  if (const std::string why = ::tessera::cuda::why_no_gpu(); !why.empty()) GTEST_SKIP() << why
