#include "data/stores.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {

ByteSamples::ByteSamples(std::size_t width, Column<std::uint8_t> features, Column<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.values().size() == width_ * size());
}

float ByteSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < size());
  CHECK(features.size() == width_);
  const std::uint8_t* sample = features_.values().data() + index * width_;
  for (std::size_t i = 0; i < width_; ++i) features[i] = static_cast<float>(sample[i]);
  return targets_.values()[index];
}

FloatSamples::FloatSamples(std::size_t width, Column<float> features, Column<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.values().size() == width_ * size());
}

float FloatSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < size());
  CHECK(features.size() == width_);
  std::copy_n(features_.values().data() + index * width_, width_, features.data());
  return targets_.values()[index];
}

}  // namespace tessera
