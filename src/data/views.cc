#include "data/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tessera {

Subset::Subset(std::shared_ptr<const Dataset> whole, Indices indices)
    : whole_(std::move(whole)), indices_(std::move(indices)) {
  for (const std::uint32_t index : indices_) CHECK(index < whole_->size());
}

float Subset::get(std::size_t index, std::span<float> features) const {
  CHECK(index < indices_.size());
  return whole_->get(indices_[index], features);
}

std::shared_ptr<const Dataset> Subset::copy_of(std::span<const std::uint32_t> samples) const {
  Indices places;
  for (const std::uint32_t sample : samples) places.push_back(indices_.at(sample));
  return whole_->copy_of(places);
}

Joined::Joined(std::vector<std::shared_ptr<const Dataset>> parts) : parts_(std::move(parts)) {
  CHECK(!parts_.empty());
  std::size_t end = 0;
  for (const auto& part : parts_) ends_.push_back(end += part->size());
}

float Joined::get(std::size_t index, std::span<float> features) const {
  CHECK(index < size());
  const auto part = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  const std::size_t begin = part == 0 ? 0 : ends_[static_cast<std::size_t>(part) - 1];
  return parts_[static_cast<std::size_t>(part)]->get(index - begin, features);
}

FlippedLabels::FlippedLabels(std::shared_ptr<const Dataset> whole, std::uint32_t classes,
                             std::vector<bool> flipped)
    : whole_(std::move(whole)), classes_(classes), flipped_(std::move(flipped)) {
  CHECK(flipped_.size() == whole_->size());
}

float FlippedLabels::get(std::size_t index, std::span<float> features) const {
  const float label = whole_->get(index, features);
  return flipped_[index] ? static_cast<float>(classes_ - 1) - label : label;
}

Normalized::Normalized(std::shared_ptr<const Dataset> raw, Normalization normalization)
    : raw_(std::move(raw)), normalization_(normalization) {
  CHECK(normalization_.divisor > 0);
  CHECK(normalization_.deviation > 0);
}

float Normalized::get(std::size_t index, std::span<float> features) const {
  const float target = raw_->get(index, features);
  const auto [divisor, mean, deviation] = normalization_;
  for (float& x : features) x = (x / divisor - mean) / deviation;
  return target;
}

std::shared_ptr<const Dataset> Normalized::copy_of(std::span<const std::uint32_t> samples) const {
  std::shared_ptr<const Dataset> raw = raw_->copy_of(samples);
  return raw ? std::make_shared<Normalized>(std::move(raw), normalization_) : nullptr;
}

Normalization scale_option(Options& options, std::string_view fallback) {
  constexpr double kDeviationMin = 1e-6;  // What is much smaller is zero as a float.
  constexpr std::array<std::string_view, 3> kScales = {"raw", "unit", "signed"};
  const std::string scale = options.choice("scale", kScales, fallback);
  if (scale == "raw") {
    for (const std::string_view key : {"mean", "deviation"})
      if (options.has(key))
        options.refuse(key, fmt::format("{} is of pixels from 0 to 1, and scale=raw leaves them "
                                        "from 0 to 255: say scale=unit, or leave it out",
                                        options.text(key)));
    return {};
  }
  const double middle = scale == "signed" ? 0.5 : 0, width = scale == "signed" ? 0.5 : 1;
  return {.divisor = 255,
          .mean = static_cast<float>(options.number("mean", middle, between(0, 1))),
          .deviation =
              static_cast<float>(options.number("deviation", width, between(kDeviationMin, 1)))};
}

Indices spread(std::size_t size, std::size_t count) {
  count = std::min(count, size);
  Indices places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<std::uint32_t>(i * size / count);
  return places;
}

std::vector<std::uint32_t> labels_of(const Dataset& dataset, const Task& task) {
  CHECK(task.classes > 0);
  std::vector<std::uint32_t> labels(dataset.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float target = dataset.get(i, {});
    CHECK(target >= 0);
    CHECK(target < static_cast<float>(task.classes));
    labels[i] = static_cast<std::uint32_t>(target);
  }
  return labels;
}

}  // namespace tessera
