#include "data/stores.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {

ByteSamples::ByteSamples(std::size_t width, std::vector<std::uint8_t> features,
                         std::vector<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.size() == width_ * targets_.size());
}

float ByteSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < targets_.size());
  CHECK(features.size() == width_);
  const std::uint8_t* sample = features_.data() + index * width_;
  for (std::size_t i = 0; i < width_; ++i) features[i] = static_cast<float>(sample[i]);
  return targets_[index];
}

FloatSamples::FloatSamples(std::size_t width, std::vector<float> features,
                           std::vector<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.size() == width_ * targets_.size());
}

float FloatSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < targets_.size());
  CHECK(features.size() == width_);
  std::copy_n(features_.data() + index * width_, width_, features.data());
  return targets_[index];
}

}  // namespace tessera
