// Samples that lie on the device, as rows; images pixel by pixel, [y][x][channel]. With
// precision=3xf16 images of few channels lie there as pairs of halves, too (pairs.h).
#pragma once

#include "cuda/kernels.h"
#include "cuda/runtime.h"
#include "data/dataset.h"

namespace tessera::cuda {

class ResidentData {
 public:
  ResidentData(const Dataset& dataset, const Task& task, DeviceOptions::Precision precision);

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
