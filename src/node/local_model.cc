#include "node/local_model.h"

#include <cmath>

#include "base/check.h"
#include "math/vector_ops.h"

namespace tessera {

double LocalModel::norm() const {
  if (!norm_) norm_ = std::sqrt(squared_norm(values_));
  return *norm_;
}

void LocalModel::begin_training() {
  CHECK(!training_);
  training_ = true;
}

void LocalModel::end_training(Vector trained, float loss) {
  CHECK(training_);
  CHECK(trained.size() == values_.size());
  if (trained_from_.empty()) {
    values_ = std::move(trained);
  } else {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += trained[i] - trained_from_[i];
  }
  norm_.reset();
  forget_training();
  last_loss_ = loss;
  ++age_;
}

void LocalModel::forget_training() {
  training_ = false;
  trained_from_.clear();
}

std::span<float> LocalModel::to_merge() {
  if (training_ && trained_from_.empty()) trained_from_ = values_;
  norm_.reset();
  return values_;
}

void LocalModel::fields(Archive& archive) {
  archive.same_length(values_, "a saved model");
  archive(age_, last_loss_, training_, trained_from_);
  archive.require(trained_from_.empty() || trained_from_.size() == values_.size(),
                  "a saved model has another length");
  if (!archive.loading()) return;
  norm_.reset();
  archive.require(std::isfinite(norm()) && std::isfinite(squared_norm(trained_from_)),
                  "a saved model is not finite");
}

}  // namespace tessera
