#include "data/stores.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {
namespace {

template <typename Samples, typename Number>
std::shared_ptr<const Dataset> copy_samples(std::size_t width, std::span<const Number> features,
                                            std::span<const float> targets,
                                            std::span<const std::uint32_t> samples) {
  std::vector<Number> own_features;
  std::vector<float> own_targets;
  own_features.reserve(samples.size() * width);
  own_targets.reserve(samples.size());
  for (const std::uint32_t sample : samples) {
    CHECK(sample < targets.size());
    const Number* const begin = features.data() + sample * width;
    own_features.insert(own_features.end(), begin, begin + width);
    own_targets.push_back(targets[sample]);
  }
  return std::make_shared<Samples>(width, std::move(own_features), std::move(own_targets));
}

}  // namespace

ByteSamples::ByteSamples(std::size_t width, Column<std::uint8_t> features, Column<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.values().size() == width_ * size());
}

float ByteSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < size());
  if (features.empty()) return targets_.values()[index];
  CHECK(features.size() == width_);
  const std::uint8_t* sample = features_.values().data() + index * width_;
  for (std::size_t i = 0; i < width_; ++i) features[i] = static_cast<float>(sample[i]);
  return targets_.values()[index];
}

std::shared_ptr<const Dataset> ByteSamples::copy_of(std::span<const std::uint32_t> samples) const {
  return copy_samples<ByteSamples>(width_, features_.values(), targets_.values(), samples);
}

FloatSamples::FloatSamples(std::size_t width, Column<float> features, Column<float> targets)
    : width_(width), features_(std::move(features)), targets_(std::move(targets)) {
  CHECK(features_.values().size() == width_ * size());
}

float FloatSamples::get(std::size_t index, std::span<float> features) const {
  CHECK(index < size());
  if (features.empty()) return targets_.values()[index];
  CHECK(features.size() == width_);
  std::copy_n(features_.values().data() + index * width_, width_, features.data());
  return targets_.values()[index];
}

std::shared_ptr<const Dataset> FloatSamples::copy_of(std::span<const std::uint32_t> samples) const {
  return copy_samples<FloatSamples>(width_, features_.values(), targets_.values(), samples);
}

}  // namespace tessera
