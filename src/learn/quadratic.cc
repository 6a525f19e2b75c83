#include "learn/quadratic.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "learn/learning.h"

namespace tessera {

Quadratic::Quadratic(QuadraticOptions options)
    : options_(options), optimum_(options.dimension, 0.0f) {
  CHECK(options_.nodes > 0);
  const Random root(options_.seed);
  for (NodeId node = 0; node < options_.nodes; ++node) {
    Random random = root.fork("target", node);
    Vector& target = targets_.emplace_back(options_.dimension);
    for (float& t : target) t = static_cast<float>(random.normal());
  }
  for (std::size_t i = 0; i < options_.dimension; ++i) {
    double sum = 0;
    for (const Vector& target : targets_) sum += target[i];
    optimum_[i] = static_cast<float>(sum / options_.nodes);
  }
}

void Quadratic::train(std::span<TrainJob> cohort) {
  for (TrainJob& job : cohort) {
    CHECK(job.node < options_.nodes);
    CHECK(job.model.size() == options_.dimension);
    const Vector& target = targets_[job.node];
    double loss = 0;
    for (int step = 0; step < options_.steps; ++step) {
      for (std::size_t i = 0; i < job.model.size(); ++i) {
        const float gap = job.model[i] - target[i];
        loss += 0.5 * gap * gap;
        const float error =
            options_.noise == 0 ? 0 : options_.noise * static_cast<float>(job.random.normal());
        job.model[i] -= options_.learning_rate * (gap + error);
      }
    }
    job.loss = static_cast<float>(loss / options_.steps);
  }
}

double Quadratic::distance_to_optimum(std::span<const float> model) const {
  double squares = 0;
  for (std::size_t i = 0; i < model.size(); ++i) squares += std::pow(model[i] - optimum_[i], 2);
  return std::sqrt(squares / static_cast<double>(model.size()));
}

std::vector<Score> QuadraticEvaluator::evaluate(std::span<const NodeId>,
                                                std::span<const std::span<const float>> models) {
  std::vector<Score> scores;
  for (const std::span<const float> model : models) {
    std::size_t near = 0;
    for (std::size_t i = 0; i < model.size(); ++i)
      near += std::abs(model[i] - trainer_.optimum()[i]) < 0.1f ? 1 : 0;
    scores.push_back({.accuracy = static_cast<double>(near) / static_cast<double>(model.size()),
                      .loss = trainer_.distance_to_optimum(model)});
  }
  return scores;
}

void make_quadratic(const LearningOptions& options, Learning& learning) {
  require_plain_sgd(options.training, "model=quadratic", "its line says lr, noise and steps");
  Options own(options.model);
  QuadraticOptions toy{.nodes = options.nodes, .seed = options.seed};
  toy.dimension = static_cast<std::size_t>(own.integer("dimension", 100, between(1, 1e9)));
  toy.learning_rate = static_cast<float>(own.number("lr", 0.1, above(0)));
  toy.noise = static_cast<float>(own.number("noise", 0.01, at_least(0)));
  toy.steps = static_cast<int>(own.integer("steps", 1, between(1, 1e6)));
  own.done();
  auto trainer = std::make_unique<Quadratic>(toy);
  learning.evaluator = std::make_unique<QuadraticEvaluator>(*trainer);
  learning.trainer = std::move(trainer);
  learning.description = fmt::format("quadratic toy, {} parameters", toy.dimension);
}

}  // namespace tessera
