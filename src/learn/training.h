// A node's local training as a line of the experiment says it, and how a node draws its
// minibatches. optimizer.h has the formulas.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "learn/augment.h"
#include "learn/rate_schedule.h"

namespace tessera {

enum class OptimizerName { kSgd, kAdam, kAdamW };

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

struct TrainingOptions {
  OptimizerName optimizer = OptimizerName::kSgd;
  float lr = 0.01f;
  std::size_t batch = 8;
  std::size_t steps = 1;  // Per round.
  float momentum = 0;     // Of SGD.
  bool nesterov = false;
  AdamOptions adam{};
  float weight_decay = 0;
  float clip = 0;  // The largest norm of a step's gradient; 0: any.
  RateSchedule schedule{};
  AugmentOptions augment{};

  bool is_sgd() const { return optimizer == OptimizerName::kSgd; }
  // How many numbers an optimizer keeps beside each parameter.
  std::size_t moments() const { return is_sgd() ? (momentum != 0 ? 1 : 0) : 2; }
  // Whether a step depends on how many came before it.
  bool counts_steps() const { return !is_sgd() || !schedule.constant(); }
};

struct TrainingKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  OptimizerName optimizer{};
  void (*read)(Options& options, TrainingOptions& training) = nullptr;  // Its own keys.
};

std::span<const TrainingKind> trainings();

// "sgd:lr=0.01,batch=8,steps=3,momentum=0.9,weight_decay=0.0005". Throws std::invalid_argument.
TrainingOptions parse_training(std::string_view spec);

// For those who train with SGD at a constant rate and nothing else: throws std::invalid_argument,
// naming the first option that is more, for whom (`where`) and what to use instead.
void require_plain_sgd(const TrainingOptions& training, std::string_view where,
                       std::string_view remedy);

// The samples of each step, as places in the node's own list of `samples`. A round begins with a
// fresh shuffle and takes minibatches off its front without replacement; the last one of a pass may
// be short, and after it the list is shuffled again.
std::vector<Indices> draw_minibatches(std::size_t samples, const TrainingOptions& training,
                                      Random& random);

}  // namespace tessera
