#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "data/views.h"
#include "run/lesson.h"

namespace tessera {
namespace {

class TimedTrainer final : public Trainer {
 public:
  TimedTrainer(std::unique_ptr<Trainer> trainer, double& seconds)
      : trainer_(std::move(trainer)), seconds_(seconds) {}
  std::size_t dimension() const override { return trainer_->dimension(); }
  Vector initial_model() const override { return trainer_->initial_model(); }
  std::vector<std::uint32_t> tensors() const override { return trainer_->tensors(); }
  void train(std::span<TrainJob> cohort) override {
    const Waiting waiting(*this);
    trainer_->train(cohort);
  }
  void begin(std::span<TrainJob> cohort) override {
    const Waiting waiting(*this);
    trainer_->begin(cohort);
  }
  void await(std::size_t job) override {
    const Waiting waiting(*this);
    trainer_->await(job);
  }
  bool takes_early(std::size_t jobs) const override { return trainer_->takes_early(jobs); }
  void open(std::span<TrainJob> cohort) override {
    const Waiting waiting(*this);
    trainer_->open(cohort);
  }
  void join(std::size_t job) override { trainer_->join(job); }  // Others merge meanwhile.
  void close() override {
    const Waiting waiting(*this);
    trainer_->close();
  }
  void fields(Archive& archive) override { trainer_->fields(archive); }

 private:
  // A thread's wait. Waits that overlap count once.
  class Waiting {
   public:
    explicit Waiting(TimedTrainer& of) : of_(of) {
      const std::lock_guard lock(of_.mutex_);
      if (of_.waiting_++ == 0) of_.since_.restart();
    }
    ~Waiting() {
      const std::lock_guard lock(of_.mutex_);
      if (--of_.waiting_ == 0) of_.seconds_ += of_.since_.seconds();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    TimedTrainer& of_;
  };

  std::unique_ptr<Trainer> trainer_;
  std::mutex mutex_{};
  double& seconds_;
  unsigned waiting_ = 0;  // Threads.
  Stopwatch since_{};     // While any waits.
};

class TimedEvaluator final : public Evaluator {
 public:
  TimedEvaluator(std::unique_ptr<Evaluator> evaluator, double& seconds)
      : evaluator_(std::move(evaluator)), seconds_(seconds) {}
  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    const Stopwatch watch;
    std::vector<Score> scores = evaluator_->evaluate(nodes, models);
    seconds_ += watch.seconds();
    return scores;
  }
  bool own_samples() const override { return evaluator_->own_samples(); }

 private:
  std::unique_ptr<Evaluator> evaluator_;
  double& seconds_;
};

class BlockEvaluator final : public Evaluator {
 public:
  BlockEvaluator(std::unique_ptr<Evaluator> evaluator, const Blocks& blocks)
      : evaluator_(std::move(evaluator)), blocks_(blocks) {}
  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    std::vector<NodeId> mine;
    std::vector<std::span<const float>> my_models;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!blocks_.hold(nodes[i])) continue;
      mine.push_back(nodes[i]);
      my_models.push_back(models[i]);
    }
    Bytes told;
    if (!mine.empty())
      for (const Score& score : evaluator_->evaluate(mine, my_models)) {
        ByteWriter(told).put(score.accuracy);
        ByteWriter(told).put(score.loss);
      }
    const std::vector<Bytes> heard = blocks_.gather(told);
    std::vector<ByteReader> from(heard.begin(), heard.end());
    std::vector<Score> scores;
    for (const NodeId node : nodes) {
      ByteReader& in = from[blocks_.holder(node)];
      const auto accuracy = in.get<double>(), loss = in.get<double>();
      scores.push_back({.accuracy = accuracy, .loss = loss});
    }
    return scores;
  }
  bool own_samples() const override { return evaluator_->own_samples(); }

 private:
  std::unique_ptr<Evaluator> evaluator_;
  const Blocks& blocks_;
};

void flip_labels_of(LoadedData& data, const Partition& partition, std::span<const NodeId> nodes) {
  if (data.task.classes == 0)
    throw std::invalid_argument(fmt::format(
        "attack=label_flip: data={} has ratings and no classes: use another attack", data.name));
  std::vector<bool> flipped(data.train->size(), false);
  for (const NodeId node : nodes)
    for (const std::uint32_t sample : partition.train[node]) flipped[sample] = true;
  data.train = std::make_shared<FlippedLabels>(data.train, data.task.classes, std::move(flipped));
}

}  // namespace

Learning make_lesson(const Plan& plan, unsigned threads) {
  LearningOptions options = plan.lesson.options;
  options.threads = threads;
  if (plan.label_flippers.empty()) return make_learning(options);
  auto [data, partition] = load_and_deal(options);
  flip_labels_of(data, partition, plan.label_flippers);
  return make_learning(std::move(data), std::move(partition), options);
}

void require_samples(const Plan& plan, const Learning& lesson) {
  if (!plan.protocol.prepared.weighs_samples || !lesson.partition.train.empty()) return;
  throw std::invalid_argument(fmt::format(
      "protocol={}: {} is taught without data of ours, so nobody knows how many samples "
      "a node has: use weights=graph",
      plan.experiment.protocol, plan.experiment.model));
}

void divide_evaluation(Learning& lesson, const Blocks& blocks) {
  if (!blocks.alone())
    lesson.evaluator = std::make_unique<BlockEvaluator>(std::move(lesson.evaluator), blocks);
}

void measure(Learning& lesson, LessonTime& time) {
  lesson.trainer = std::make_unique<TimedTrainer>(std::move(lesson.trainer), time.training_s);
  lesson.evaluator =
      std::make_unique<TimedEvaluator>(std::move(lesson.evaluator), time.evaluating_s);
}

}  // namespace tessera
