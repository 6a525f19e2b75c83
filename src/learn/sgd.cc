#include "learn/sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.h"
#include "base/spec.h"
#include "math/vector_ops.h"

namespace tessera {

SgdOptions parse_training(std::string_view spec) {
  Options options(parse_spec(spec));
  if (options.name() != "sgd")
    throw std::invalid_argument(
        fmt::format("training: there is no '{}'. Known: sgd:lr=…,batch=…,steps=…,momentum=…,"
                    "weight_decay=…",
                    options.name()));
  const SgdOptions defaults;
  const auto count = [&](std::string_view key, std::size_t fallback) {
    return static_cast<std::size_t>(
        options.integer(key, static_cast<std::int64_t>(fallback), between(1, 1e6)));
  };
  SgdOptions sgd;
  sgd.lr = static_cast<float>(options.number("lr", double{defaults.lr}, above(0)));
  sgd.batch = count("batch", defaults.batch);
  sgd.steps = count("steps", defaults.steps);
  sgd.momentum = static_cast<float>(options.number("momentum", 0, between(0, 1)));
  sgd.weight_decay = static_cast<float>(options.number("weight_decay", 0, at_least(0)));
  options.done();
  return sgd;
}

void apply_sgd(const SgdOptions& options, std::span<float> parameters,
               std::span<const float> gradient, std::span<float> velocity) {
  if (options.momentum == 0 && options.weight_decay == 0)
    return add_scaled(parameters, -options.lr, gradient);
  if (options.momentum != 0) CHECK(velocity.size() == parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    float d = gradient[i] + options.weight_decay * parameters[i];
    if (options.momentum != 0) d = velocity[i] = options.momentum * velocity[i] + d;
    parameters[i] -= options.lr * d;
  }
}

std::vector<Indices> draw_minibatches(std::size_t samples, const SgdOptions& options,
                                      Random& random) {
  CHECK(samples > 0);
  std::vector<Indices> steps;
  while (steps.size() < options.steps) {
    // As many as this pass can use, no more: a round of three small batches draws 24 numbers from a
    // list of thousands.
    const std::size_t wanted = (options.steps - steps.size()) * options.batch;
    const Indices drawn = random.sample(static_cast<std::uint32_t>(samples),
                                        static_cast<std::uint32_t>(std::min(wanted, samples)));
    for (std::size_t start = 0; start < drawn.size(); start += options.batch) {
      const auto first = drawn.begin() + static_cast<std::ptrdiff_t>(start);
      const std::size_t count = std::min(options.batch, drawn.size() - start);
      steps.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    }
  }
  return steps;
}

}  // namespace tessera
