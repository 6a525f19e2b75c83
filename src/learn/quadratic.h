// The smallest thing there is to learn: node i pulls towards a target t_i of its own, f_i(x) = 1/2
// |x - t_i|^2, by gradient steps with noise. The nodes' average lies at the mean of the targets,
// which is known, so a test can say exactly how far from agreement and from the optimum a run
// ended. It needs no data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/trainer.h"

namespace tessera {

struct Learning;
struct LearningOptions;

struct QuadraticOptions {
  std::uint32_t nodes = 8;
  std::size_t dimension = 100;
  std::uint64_t seed = 1;
  float learning_rate = 0.1f;
  float noise = 0.01f;  // Standard deviation of each gradient coordinate's error.
  int steps = 1;        // Per job.
};

class Quadratic final : public Trainer {
 public:
  explicit Quadratic(QuadraticOptions options);

  std::size_t dimension() const override { return options_.dimension; }
  Vector initial_model() const override { return Vector(options_.dimension, 0.0f); }
  void train(std::span<TrainJob> cohort) override;

  const Vector& optimum() const { return optimum_; }  // The mean of the targets.
  double distance_to_optimum(
      std::span<const float> model) const;  // Euclidean, per square root of dimension.

 private:
  QuadraticOptions options_;
  std::vector<Vector> targets_;
  Vector optimum_;
};

// Tests models on what the toy knows: the loss is the distance to the optimum, the accuracy the
// fraction of coordinates within a tenth of it.
class QuadraticEvaluator final : public Evaluator {
 public:
  explicit QuadraticEvaluator(const Quadratic& trainer) : trainer_(trainer) {}
  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override;

 private:
  const Quadratic& trainer_;
};

// The row of the models' table: "quadratic:dimension=100,lr=0.1,noise=0.01,steps=1".
void make_quadratic(const LearningOptions& options, Learning& learning);

}  // namespace tessera
