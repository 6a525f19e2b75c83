// Samples held in memory. Pixels and characters stay the bytes they are in their files, which takes
// a quarter of what floats would: CIFAR-10 is 184 MB this way. Loaders fill a Half and turn it into
// a Dataset.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace tessera {

// What a loader gathers for the training or the test half of a set.
struct ByteHalf {
  std::vector<std::uint8_t> features{};  // One sample after the other.
  std::vector<float> targets{};
  std::vector<std::uint32_t> users{};  // One per sample, or empty.
};

// Features are bytes, given out as floats from 0 to 255.
class ByteSamples final : public Dataset {
 public:
  ByteSamples(std::size_t width, std::vector<std::uint8_t> features, std::vector<float> targets);
  std::size_t size() const override { return targets_.size(); }
  float get(std::size_t index, std::span<float> features) const override;

 private:
  std::size_t width_;
  std::vector<std::uint8_t> features_;
  std::vector<float> targets_;
};

class FloatSamples final : public Dataset {
 public:
  FloatSamples(std::size_t width, std::vector<float> features, std::vector<float> targets);
  std::size_t size() const override { return targets_.size(); }
  float get(std::size_t index, std::span<float> features) const override;

 private:
  std::size_t width_;
  std::vector<float> features_;
  std::vector<float> targets_;
};

}  // namespace tessera
