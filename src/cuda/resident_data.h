// Samples that lie on the device, as rows; images pixel by pixel, [y][x][channel].
// Where a model's first layer takes them, pixels lie there as pairs of halves, too (pairs.h).
#pragma once

#include "cuda/kernels.h"
#include "cuda/runtime.h"
#include "data/dataset.h"

namespace tessera::cuda {

class ResidentData {
 public:
  ResidentData(const Dataset& dataset, const Task& task, bool as_pairs);

  static std::uint64_t bytes_for(std::uint64_t samples, const Task& task, bool as_pairs);

  Rows rows(const std::uint32_t* chosen, std::size_t chosen_stride) const {
    return {features_.data(), width_, chosen, chosen_stride, pairs_.data(), unit_};
  }
  const float* targets() const { return targets_.data(); }

 private:
  void split_pixels(std::size_t images, std::size_t channels);

  std::size_t width_;
  DeviceArray<float> features_, targets_, pairs_;
  float unit_ = 1;  // Of the pairs.
};

}  // namespace tessera::cuda
