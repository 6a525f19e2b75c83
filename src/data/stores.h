// Samples held in memory, or in a file mapped into it. Pixels and characters stay the bytes they
// are in their files, which takes a quarter of what floats would: CIFAR-10 is 184 MB this way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace tessera {

// Numbers that nobody changes any more.
template <typename T>
class Column {
 public:
  Column() = default;
  Column(std::vector<T> values) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = *kept;
    owner_ = kept;
  }
  // `values` lie in what `owner` holds.
  Column(std::span<const T> values, std::shared_ptr<const void> owner)
      : values_(values), owner_(std::move(owner)) {}

  std::span<const T> values() const { return values_; }

 private:
  std::span<const T> values_{};
  std::shared_ptr<const void> owner_{};
};

// What a loader gathers for the training or the test half of a set.
struct ByteHalf {
  std::vector<std::uint8_t> features{};  // One sample after the other.
  std::vector<float> targets{};
  std::vector<std::uint32_t> users{};  // One per sample, or empty.
};

// Features are bytes, given out as floats from 0 to 255.
class ByteSamples final : public Dataset {
 public:
  ByteSamples(std::size_t width, Column<std::uint8_t> features, Column<float> targets);
  std::size_t size() const override { return targets_.values().size(); }
  float get(std::size_t index, std::span<float> features) const override;
  std::shared_ptr<const Dataset> copy_of(std::span<const std::uint32_t> samples) const override;

 private:
  std::size_t width_;
  Column<std::uint8_t> features_;
  Column<float> targets_;
};

class FloatSamples final : public Dataset {
 public:
  FloatSamples(std::size_t width, Column<float> features, Column<float> targets);
  std::size_t size() const override { return targets_.values().size(); }
  float get(std::size_t index, std::span<float> features) const override;
  std::shared_ptr<const Dataset> copy_of(std::span<const std::uint32_t> samples) const override;

 private:
  std::size_t width_;
  Column<float> features_;
  Column<float> targets_;
};

}  // namespace tessera
