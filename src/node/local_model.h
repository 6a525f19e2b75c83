// A node's model between two trainings. Training works on a copy and takes its time; what is merged
// meanwhile is kept, and what training made of the copy is added to it, as AD-PSGD has it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/archive.h"
#include "base/ids.h"

namespace tessera {

class LocalModel {
 public:
  explicit LocalModel(Vector values) : values_(std::move(values)) {}

  const Vector& values() const { return values_; }
  std::uint64_t age() const { return age_; }  // Trainings it has seen.
  float last_loss() const { return last_loss_; }
  // The values' Euclidean norm: not finite where one of them is not.
  double norm() const;
  bool training() const { return training_; }

  void begin_training();
  void end_training(Vector trained, float loss);
  void forget_training();  // After a crash: whatever was being trained is gone.
  // For changes of the values otherwise than by training.
  std::span<float> to_merge();

  void fields(Archive& archive);

 private:
  Vector values_;
  mutable std::optional<double> norm_;  // Of the values, once asked for.
  Vector trained_from_;  // The values as training found them, once a merge has changed them.
  bool training_ = false;
  std::uint64_t age_ = 0;
  float last_loss_ = 0;
};

}  // namespace tessera
