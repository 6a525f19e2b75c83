// What the tests of this folder share: small tasks, models and data made from a seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "learn/models.h"
#include "learn/node_model.h"

namespace tessera::testing {

inline Task images(std::uint32_t channels, std::uint32_t side, std::uint32_t classes) {
  return {.kind = Task::Kind::kImages, .shape = {channels, side, side}, .classes = classes};
}
inline Task tokens(std::uint32_t length, std::uint32_t vocabulary) {
  return {.kind = Task::Kind::kTokens,
          .shape = {length},
          .classes = vocabulary,
          .vocabulary = vocabulary};
}
inline Task ratings(std::uint32_t users, std::uint32_t items) {
  return {.kind = Task::Kind::kRatings, .shape = {2}, .users = users, .items = items};
}

// One model of every kind on a task small enough for a test.
struct Case {
  std::string_view spec{};
  Task task{};
};
inline std::vector<Case> small_cases() {
  return {{"gn-lenet", images(3, 16, 10)},
          {"celeba-cnn", images(3, 21, 2)},
          {"femnist-cnn", images(1, 14, 5)},
          {"cnn28", images(1, 13, 10)},
          {"resnet8", images(3, 9, 4)},
          {"mlp:hidden=20/12", images(1, 6, 3)},
          {"logistic", images(2, 5, 3)},
          {"lstm", tokens(5, 11)},
          {"matrix-factorization:factors=6", ratings(7, 9)}};
}

inline Vector normals(std::size_t count, Random random) {
  Vector values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// Samples that lie in memory, with something in them to learn: each class has a mean of its own.
class MadeUpData final : public Dataset {
 public:
  MadeUpData(const Task& task, std::size_t size, Random random) : width_(task.features()) {
    const Vector means = normals(std::max(1u, task.classes) * width_, Random(77).fork("means"));
    for (std::size_t i = 0; i < size; ++i) add(task, means, random);
  }
  std::size_t size() const override { return targets_.size(); }
  float get(std::size_t index, std::span<float> features) const override {
    if (features.empty()) return targets_[index];
    std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(index * width_), width_,
                features.begin());
    return targets_[index];
  }
  Batch first(std::size_t count) const {
    return {std::span(features_).first(count * width_), std::span(targets_).first(count)};
  }

 private:
  void add(const Task& task, const Vector& means, Random& random) {
    if (task.kind == Task::Kind::kRatings) {
      features_.push_back(static_cast<float>(random.below(task.users)));
      features_.push_back(static_cast<float>(random.below(task.items)));
      targets_.push_back(static_cast<float>(1 + random.below(10)) / 2);
      return;
    }
    const std::uint64_t target = random.below(task.classes);
    for (std::size_t i = 0; i < width_; ++i)
      features_.push_back(task.kind == Task::Kind::kTokens
                              ? static_cast<float>((target + i * i) % task.vocabulary)
                              : means[target * width_ + i] + static_cast<float>(random.normal()));
    targets_.push_back(static_cast<float>(target));
  }

  std::size_t width_;
  Vector features_, targets_;
};

// The largest difference, as a fraction of the largest magnitude in `wanted`.
inline double relative_gap(std::span<const float> got, std::span<const float> wanted) {
  double gap = 0, scale = 1e-30;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    gap = std::max(gap, std::abs(double{got[i]} - double{wanted[i]}));
    scale = std::max(scale, std::abs(double{wanted[i]}));
  }
  return gap / scale;
}

}  // namespace tessera::testing
