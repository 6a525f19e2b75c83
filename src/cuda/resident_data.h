// Samples that lie on the device, as rows; images pixel by pixel, [y][x][channel].
#pragma once

#include "cuda/kernels.h"
#include "cuda/runtime.h"
#include "data/dataset.h"

namespace tessera::cuda {

class ResidentData {
 public:
  ResidentData(const Dataset& dataset, const Task& task);

  Rows rows(const std::uint32_t* chosen, std::size_t chosen_stride) const {
    return {features_.data(), width_, chosen, chosen_stride};
  }
  const float* targets() const { return targets_.data(); }

 private:
  std::size_t width_;
  DeviceArray<float> features_, targets_;
};

}  // namespace tessera::cuda
