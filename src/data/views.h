// Datasets that wrap datasets: some of the samples, several sets as one, or the same samples on
// another scale.
#pragma once

#include "base/ids.h"
#include "base/spec.h"
#include "data/dataset.h"

namespace tessera {

class Subset final : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, Indices indices);
  std::size_t size() const override { return indices_.size(); }
  float get(std::size_t index, std::span<float> features) const override;
  std::shared_ptr<const Dataset> copy_of(std::span<const std::uint32_t> samples) const override;

 private:
  std::shared_ptr<const Dataset> whole_;
  Indices indices_;
};

// Several sets, one after the other.
class Joined final : public Dataset {
 public:
  explicit Joined(std::vector<std::shared_ptr<const Dataset>> parts);
  std::size_t size() const override { return ends_.back(); }
  float get(std::size_t index, std::span<float> features) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<std::size_t> ends_;  // Of each part, in the whole.
};

// y = (x / divisor - mean) / deviation, rounded in this order, which is that of PyTorch's ToTensor
// (divisor 255) and Normalize: the same bits go into the model.
struct Normalization {
  float divisor = 1;
  float mean = 0;
  float deviation = 1;
  bool operator==(const Normalization&) const = default;
};

class Normalized final : public Dataset {
 public:
  Normalized(std::shared_ptr<const Dataset> raw, Normalization normalization);
  std::size_t size() const override { return raw_->size(); }
  float get(std::size_t index, std::span<float> features) const override;
  std::shared_ptr<const Dataset> copy_of(std::span<const std::uint32_t> samples) const override;

 private:
  std::shared_ptr<const Dataset> raw_;
  Normalization normalization_;
};

// Classes counted from the other end, of some samples: what is 0 of ten says 9.
class FlippedLabels final : public Dataset {
 public:
  // `flipped` has one entry per sample.
  FlippedLabels(std::shared_ptr<const Dataset> whole, std::uint32_t classes,
                std::vector<bool> flipped);
  std::size_t size() const override { return whole_->size(); }
  float get(std::size_t index, std::span<float> features) const override;

 private:
  std::shared_ptr<const Dataset> whole_;
  std::uint32_t classes_;
  std::vector<bool> flipped_;
};

// The options of every set of images. `scale`: raw (0 to 255), unit (0 to 1) or signed (-1 to 1).
// `mean` and `deviation`, of pixels from 0 to 1, in place of those that unit or signed stand for.
Normalization scale_option(Options& options, std::string_view fallback);

// `count` places spread evenly over [0, size), or all of them. Files are often sorted by user or by
// class; the first so many samples would be a biased set.
Indices spread(std::size_t size, std::size_t count);

// The target of every sample, which must be classes.
std::vector<std::uint32_t> labels_of(const Dataset& dataset, const Task& task);

}  // namespace tessera
