// Memory for the tests of single kernels: what they are to write, and what they must leave alone.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "cuda/for_tests.h"

namespace tessera::cuda {

// Floats on the device that are NaN until a kernel writes them, with more of those behind the end.
class Poisoned {
 public:
  explicit Poisoned(std::size_t size) : size_(size), device_(size + kBehind) {
    const Vector poison(size + kBehind, std::numeric_limits<float>::quiet_NaN());
    upload_now(device_.data(), poison.data(), poison.size() * sizeof(float));
  }
  float* device() const { return device_.data(); }
  Vector back() const {
    Vector values(device_.size());
    require(cudaMemcpy(values.data(), device_.data(), values.size() * sizeof(float),
                       cudaMemcpyDeviceToHost),
            "a copy");
    for (std::size_t i = size_; i < values.size(); ++i)
      EXPECT_TRUE(std::isnan(values[i])) << "written " << i - size_ << " behind the end";
    values.resize(size_);
    return values;
  }

 private:
  static constexpr std::size_t kBehind = 300;  // More than a block has threads.
  std::size_t size_;
  DeviceArray<float> device_;
};

// As many of the numbers below `end` as are asked for, in no order.
inline std::vector<std::uint32_t> drawn_below(std::uint32_t end, std::size_t count,
                                              std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> drawn(count);
  for (std::uint32_t& one : drawn) one = static_cast<std::uint32_t>(random.below(end));
  return drawn;
}

template <typename T>
DeviceArray<T> sent(const std::vector<T>& values) {
  DeviceArray<T> memory(values.size());
  upload_now(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

}  // namespace tessera::cuda
