#include "learn/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/check.h"
#include "base/table.h"

namespace tessera {
namespace {

void read_sgd(Options& options, TrainingOptions& training) {
  training.momentum = static_cast<float>(options.number("momentum", 0, between(0, 1)));
  training.nesterov = options.yes("nesterov", false);
  if (training.nesterov && training.momentum == 0)
    options.refuse("nesterov", "looks ahead along the momentum; say momentum=0.9 too");
}

void read_adam(Options& options, TrainingOptions& training) {
  const auto beta = [&](std::string_view key, double fallback) {
    const double value = options.number(key, fallback, between(0, 1));
    if (value == 1) options.refuse(key, "must be below 1");
    return value;
  };
  AdamOptions& adam = training.adam;
  adam.beta1 = beta("beta1", adam.beta1);
  adam.beta2 = beta("beta2", adam.beta2);
  adam.epsilon = options.number("epsilon", adam.epsilon, above(0));
}

constexpr std::array kTrainings = {
    TrainingKind{.name = "sgd",
                 .usage = "sgd:lr=0.01,batch=8,steps=1,momentum=0,nesterov=no,weight_decay=0,clip="
                          "…,flip=no,crop=0",
                 .summary = "stochastic gradient descent",
                 .optimizer = OptimizerName::kSgd,
                 .read = read_sgd},
    TrainingKind{.name = "adam",
                 .usage = "adam:lr=0.001,batch=8,steps=1,beta1=0.9,beta2=0.999,epsilon=1e-8,"
                          "weight_decay=0,clip=…,flip=no,crop=0",
                 .summary = "Adam; weight decay is part of the gradient",
                 .optimizer = OptimizerName::kAdam,
                 .read = read_adam},
    TrainingKind{.name = "adamw",
                 .usage = "adamw:lr=0.001,batch=8,steps=1,beta1=0.9,beta2=0.999,epsilon=1e-8,"
                          "weight_decay=0.01,clip=…,flip=no,crop=0",
                 .summary = "Adam with decoupled weight decay",
                 .optimizer = OptimizerName::kAdamW,
                 .read = read_adam},
};

}  // namespace

std::span<const TrainingKind> trainings() {
  return kTrainings;
}

TrainingOptions parse_training(std::string_view spec) {
  const auto [kind, parsed] = choose(trainings(), "training", spec);
  Options options(parsed);
  TrainingOptions training{.optimizer = kind->optimizer};
  const auto count = [&](std::string_view key, std::size_t fallback) {
    return static_cast<std::size_t>(
        options.integer(key, static_cast<std::int64_t>(fallback), between(1, 1e6)));
  };
  const double lr = options.number("lr", training.is_sgd() ? 0.01 : 0.001, above(0));
  training.lr = static_cast<float>(lr);
  training.batch = count("batch", training.batch);
  training.steps = count("steps", training.steps);
  kind->read(options, training);
  const double decay = training.optimizer == OptimizerName::kAdamW ? 0.01 : 0;
  training.weight_decay = static_cast<float>(options.number("weight_decay", decay, at_least(0)));
  if (options.has("clip")) training.clip = static_cast<float>(options.number("clip", 1, above(0)));
  training.schedule = read_rate_schedule(options, lr);
  training.augment.flip = options.yes("flip", false);
  training.augment.crop = static_cast<std::uint32_t>(options.integer("crop", 0, between(0, 1000)));
  options.done();
  return training;
}

void require_plain_sgd(const TrainingOptions& training, std::string_view where,
                       std::string_view remedy) {
  const auto refuse = [&](std::string_view what) {
    throw std::invalid_argument(fmt::format("training: {} knows no {}: {}", where, what, remedy));
  };
  if (!training.is_sgd()) refuse(trainings()[static_cast<std::size_t>(training.optimizer)].name);
  if (training.nesterov) refuse("nesterov=yes");
  if (training.augment.flip) refuse("flip=yes");
  if (training.augment.crop > 0) refuse(fmt::format("crop={}", training.augment.crop));
  if (training.clip > 0) refuse(fmt::format("clip={}", training.clip));
  if (training.schedule.warmup > 0) refuse(fmt::format("warmup={}", training.schedule.warmup));
  if (!training.schedule.constant())
    refuse(fmt::format("schedule={}", training.schedule.kind->name));
}

std::vector<Indices> draw_minibatches(std::size_t samples, const TrainingOptions& training,
                                      Random& random) {
  CHECK(samples > 0);
  std::vector<Indices> steps;
  while (steps.size() < training.steps) {
    // As many as this pass can use, no more: a round of three small batches draws 24 numbers from a
    // list of thousands.
    const std::size_t wanted = (training.steps - steps.size()) * training.batch;
    const Indices drawn = random.sample(static_cast<std::uint32_t>(samples),
                                        static_cast<std::uint32_t>(std::min(wanted, samples)));
    for (std::size_t start = 0; start < drawn.size(); start += training.batch) {
      const auto first = drawn.begin() + static_cast<std::ptrdiff_t>(start);
      const std::size_t count = std::min(training.batch, drawn.size() - start);
      steps.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    }
  }
  return steps;
}

}  // namespace tessera
