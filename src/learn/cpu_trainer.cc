#include "learn/cpu_trainer.h"

#include <algorithm>

#include "base/check.h"
#include "base/threads.h"
#include "learn/optimizer.h"
#include "learn/score.h"

namespace tessera {
namespace {

// Samples copied out of a dataset, one batch at a time.
class BatchReader {
 public:
  BatchReader(const Dataset& dataset, const Task& task) : dataset_(dataset), task_(task) {}

  Batch read(std::span<const std::uint32_t> samples) {
    const std::size_t width = task_.features();
    features_.resize(samples.size() * width);
    targets_.resize(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i)
      targets_[i] = dataset_.get(samples[i], std::span(features_).subspan(i * width, width));
    return {features_, targets_};
  }

 private:
  const Dataset& dataset_;
  const Task& task_;
  Vector features_, targets_;
};

// The same, each image changed a little where that is asked for.
class AugmentedReader {
 public:
  AugmentedReader(const Dataset& dataset, const Task& task, const AugmentOptions& options)
      : reader_(dataset, task), augment_(options, task), any_(options.any()) {}

  Batch read(std::span<const std::uint32_t> samples, Random random) {
    const Batch batch = reader_.read(samples);
    if (!any_) return batch;
    features_.assign(batch.features.begin(), batch.features.end());
    const std::size_t width = features_.size() / samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i)
      augment_.apply(std::span(features_).subspan(i * width, width), random);
    return {features_, batch.targets};
  }

 private:
  BatchReader reader_;
  Augment augment_;
  bool any_;
  Vector features_;
};

class CpuTrainer final : public Trainer {
 public:
  explicit CpuTrainer(CpuTrainerParts parts) : parts_(std::move(parts)), workers_(parts_.threads) {
    for (unsigned i = 0; i < workers_.threads(); ++i)
      per_thread_.push_back({parts_.make_model(),
                             AugmentedReader(*parts_.train, parts_.task, parts_.training.augment)});
    states_.resize(parts_.node_samples.size());
  }

  std::size_t dimension() const override { return parts_.initial.size(); }
  Vector initial_model() const override { return parts_.initial; }
  std::vector<std::uint32_t> tensors() const override { return parts_.tensors; }
  void fields(Archive& archive) override {
    for (NodeId id = 0; id < states_.size(); ++id) states_[id].fields(id, parts_.training, archive);
  }

  void train(std::span<TrainJob> cohort) override {
    workers_.for_each(cohort.size(), [&](std::size_t i, unsigned worker) {
      train_one(cohort[i], per_thread_[worker]);
    });
  }

 private:
  struct PerThread {
    std::unique_ptr<NodeModel> model;
    AugmentedReader reader;
  };

  void train_one(TrainJob& job, PerThread& own) {
    CHECK(job.node < parts_.node_samples.size());
    CHECK(job.model.size() == dimension());
    const Indices& samples = parts_.node_samples[job.node];
    NodeModel& model = *own.model;
    model.arrange(job.model, model.parameters());
    OptimizerState& state = states_[job.node];
    state.fit(parts_.training, model.trained());
    double loss = 0;
    std::uint64_t step = 0;
    for (Indices& batch : draw_minibatches(samples.size(), parts_.training, job.random)) {
      for (std::uint32_t& place : batch) place = samples[place];
      const Random random = job.random.fork("augment", step++);
      loss += double{descend(model, own.reader.read(batch, random), state)};
      ++state.steps;
    }
    model.restore(model.parameters(), job.model);
    job.loss = static_cast<float>(loss / static_cast<double>(parts_.training.steps));
  }

  float descend(NodeModel& model, const Batch& batch, OptimizerState& state) const {
    const TrainingOptions& training = parts_.training;
    if (training.clip == 0) {
      const OptimizerStep step(training, state.steps);
      return model.descend(batch, [&](std::size_t first, std::span<const float> gradient) {
        step.apply(model.parameters().subspan(first, gradient.size()), gradient,
                   state.moments(first, gradient.size()));
      });
    }
    const float loss = model.differentiate(batch);
    const auto gradient = model.gradient().first(model.trained());
    OptimizerStep(training, state.steps, clip_scale(training.clip, gradient))
        .apply(model.parameters().first(gradient.size()), gradient,
               state.moments(0, gradient.size()));
    return loss;
  }

  CpuTrainerParts parts_;
  Workers workers_;
  std::vector<PerThread> per_thread_;
  std::vector<OptimizerState> states_;  // In working order; filled when a node first trains.
};

// A test set is scored in blocks of this many samples, whatever the number of threads, and the
// blocks' sums are added in order.
constexpr std::size_t kBlock = 512;

class CpuEvaluator final : public Evaluator {
 public:
  explicit CpuEvaluator(CpuEvaluatorParts parts)
      : parts_(std::move(parts)), workers_(parts_.threads) {
    for (unsigned i = 0; i < workers_.threads(); ++i)
      per_thread_.push_back({parts_.make_model(), BatchReader(*parts_.test, parts_.task), {}});
  }

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    CHECK(nodes.size() == models.size());
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t count = samples_of(nodes[i]).size();
      for (std::size_t start = 0; start < count; start += kBlock)
        blocks.push_back({i, samples_of(nodes[i]).subspan(start, std::min(kBlock, count - start))});
    }
    workers_.for_each(blocks.size(), [&](std::size_t i, unsigned worker) {
      PerThread& own = per_thread_[worker];
      own.model->arrange(models[blocks[i].model], own.model->parameters());
      blocks[i].sum = score_block(blocks[i].samples, own);
    });
    std::vector<ScoreSum> sums(models.size());
    for (const Block& block : blocks) sums[block.model] += block.sum;
    std::vector<Score> scores;
    for (const ScoreSum& sum : sums) scores.push_back(sum.score(parts_.task));
    return scores;
  }
  bool own_samples() const override { return parts_.node_samples.size() > 1; }

 private:
  struct Block {
    std::size_t model;
    std::span<const std::uint32_t> samples;
    ScoreSum sum{};
  };
  struct PerThread {
    std::unique_ptr<NodeModel> model;
    BatchReader reader;
    Vector outputs;
  };

  std::span<const std::uint32_t> samples_of(NodeId node) const {
    if (parts_.node_samples.size() == 1) return parts_.node_samples.front();
    CHECK(node < parts_.node_samples.size());
    return parts_.node_samples[node];
  }

  ScoreSum score_block(std::span<const std::uint32_t> samples, PerThread& own) const {
    ScoreSum sum;
    for (std::size_t start = 0; start < samples.size(); start += parts_.batch) {
      const std::size_t count = std::min(parts_.batch, samples.size() - start);
      const Batch batch = own.reader.read(samples.subspan(start, count));
      own.outputs.resize(count * own.model->outputs());
      own.model->predict(batch, own.outputs);
      sum += score_outputs(parts_.task, own.outputs, batch.targets);
    }
    return sum;
  }

  CpuEvaluatorParts parts_;
  Workers workers_;
  std::vector<PerThread> per_thread_;
};

}  // namespace

std::unique_ptr<Trainer> make_cpu_trainer(CpuTrainerParts parts) {
  return std::make_unique<CpuTrainer>(std::move(parts));
}

std::unique_ptr<Evaluator> make_cpu_evaluator(CpuEvaluatorParts parts) {
  return std::make_unique<CpuEvaluator>(std::move(parts));
}

void learn_on_cpu(CpuModel model, const LearningOptions& options, Learning& learning) {
  require_images_to_augment(options.training.augment, model.task);
  learning.trainer = make_cpu_trainer({.initial = std::move(model.initial),
                                       .tensors = std::move(model.tensors),
                                       .make_model = model.make,
                                       .task = model.task,
                                       .train = learning.data.train,
                                       .node_samples = learning.partition.train,
                                       .training = options.training,
                                       .threads = options.threads});
  learning.evaluator =
      make_cpu_evaluator({.make_model = std::move(model.make),
                          .task = model.task,
                          .test = learning.data.test,
                          .node_samples = test_lists(learning, options.test_samples),
                          .batch = kCpuTestBatch,
                          .threads = options.threads});
}

}  // namespace tessera
