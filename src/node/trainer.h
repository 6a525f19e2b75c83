// Learning on flat vectors, as the layers above see it: a trainer knows data, not peers. learn/
// implements it on the CPU, cuda/ and torch/ on GPUs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/random.h"

namespace tessera {

// Local steps for one node, in place. `random` is a fork of its own (node and round), so that which
// samples a node draws does not depend on who else trains, on the number of threads or on the
// device.
struct TrainJob {
  NodeId node = 0;
  std::span<float> model{};
  Random random{0};
  float loss = 0;  // Out: mean loss over the steps.
};

class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual std::size_t dimension() const = 0;
  virtual Vector initial_model() const = 0;
  // How many parameters each tensor of the model has, in the vector's order; empty: it is one.
  virtual std::vector<std::uint32_t> tensors() const { return {}; }
  // A cohort is a batch of nodes: one on a live node, all those under way in the simulator.
  virtual void train(std::span<TrainJob> cohort) = 0;

  // The same in two steps, for those who have something to do with the first results while the last
  // are computed: begin() need not wait for any. The cohort stays where it is until each of its
  // jobs, by its place, has been awaited; before that no other begins, and fields() is not asked.
  // Threads may await different jobs at once. Either step throws what train() would.
  virtual void begin(std::span<TrainJob> cohort) { train(cohort); }
  virtual void await(std::size_t /*job*/) {}

  // For a cohort whose jobs are ready one after the other: open() in place of begin(), join() for
  // each job once its place in the cohort is filled in, from any thread, and close() when no more
  // come; places are filled in from the first on. Some are computed while others are not ready yet.
  // Only where takes_early() says that it gains by that. After an exception close() may never come,
  // and the next begin() or open() starts afresh.
  virtual bool takes_early(std::size_t /*jobs*/) const { return false; }
  virtual void open(std::span<TrainJob> /*cohort*/) {}
  virtual void join(std::size_t /*job*/) {}
  virtual void close() {}

  // What it remembers between jobs (momentum), for checkpoints.
  virtual void fields(Archive&) {}
};

// Thrown by a trainer or an evaluator that is to do no more, though nothing is wrong: a live node
// then saves what it has and leaves. What it was to do is done when it comes back.
struct WorkAbandoned {};

// How well a model does on data it has not seen.
struct Score {
  double accuracy = 0;  // Fraction right; for ratings, the fraction within the task's tolerance.
  double loss = 0;      // Mean cross-entropy, or root mean square error for ratings.
  bool tested() const { return !std::isnan(accuracy); }
};
// Of a node without test samples.
inline constexpr Score kNotTested{.accuracy = std::numeric_limits<double>::quiet_NaN(),
                                  .loss = std::numeric_limits<double>::quiet_NaN()};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // One score per model, in order; models[i] belongs to nodes[i], which matters where nodes are
  // tested on their own users' samples.
  virtual std::vector<Score> evaluate(std::span<const NodeId> nodes,
                                      std::span<const std::span<const float>> models) = 0;
  // Whether nodes are tested on samples of their own, so that one model scores differently for
  // each.
  virtual bool own_samples() const { return false; }
};

}  // namespace tessera
