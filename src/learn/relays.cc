#include "learn/relays.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera {
namespace {

using HasSamples = std::vector<bool>;  // By node.

class RelayTrainer final : public Trainer {
 public:
  RelayTrainer(std::unique_ptr<Trainer> trainer, HasSamples has_samples)
      : trainer_(std::move(trainer)), has_samples_(std::move(has_samples)) {}

  std::size_t dimension() const override { return trainer_->dimension(); }
  Vector initial_model() const override { return trainer_->initial_model(); }
  std::vector<std::uint32_t> tensors() const override { return trainer_->tensors(); }
  void fields(Archive& archive) override { trainer_->fields(archive); }

  void train(std::span<TrainJob> cohort) override {
    begin(cohort);
    for (std::size_t job = 0; job < cohort.size(); ++job) await(job);
  }

  void begin(std::span<TrainJob> cohort) override {
    cohort_ = cohort;
    jobs_.clear();
    places_.clear();
    for (const TrainJob& job : cohort) {
      places_.push_back(jobs_.size());
      if (has_samples_.at(job.node)) jobs_.push_back(job);
    }
    if (!jobs_.empty()) trainer_->begin(jobs_);
  }

  void await(std::size_t job) override {
    if (!has_samples_.at(cohort_[job].node)) return;
    trainer_->await(places_[job]);
    cohort_[job] = jobs_[places_[job]];
  }

 private:
  std::unique_ptr<Trainer> trainer_;
  HasSamples has_samples_;
  std::span<TrainJob> cohort_{};
  std::vector<TrainJob> jobs_{};       // Those of the cohort with samples.
  std::vector<std::size_t> places_{};  // Of the cohort's jobs among them.
};

class RelayEvaluator final : public Evaluator {
 public:
  RelayEvaluator(std::unique_ptr<Evaluator> evaluator, HasSamples has_samples)
      : evaluator_(std::move(evaluator)), has_samples_(std::move(has_samples)) {}

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    std::vector<NodeId> tested;
    std::vector<std::span<const float>> theirs;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (has_samples_.at(nodes[i])) tested.push_back(nodes[i]), theirs.push_back(models[i]);
    std::vector<Score> scores(nodes.size(), kNotTested);
    if (tested.empty()) return scores;
    const std::vector<Score> found = evaluator_->evaluate(tested, theirs);
    auto next = found.begin();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (has_samples_.at(nodes[i])) scores[i] = *next++;
    return scores;
  }
  bool own_samples() const override { return true; }

 private:
  std::unique_ptr<Evaluator> evaluator_;
  HasSamples has_samples_;
};

// None where everybody, or everybody who counts, has some.
std::optional<HasSamples> look(std::span<const Indices> lists, std::optional<NodeId> only) {
  HasSamples has;
  for (const Indices& own : lists) has.push_back(!own.empty());
  const bool all = only ? *only >= has.size() || has[*only]
                        : std::find(has.begin(), has.end(), false) == has.end();
  return all ? std::nullopt : std::optional(std::move(has));
}

}  // namespace

void leave_out_relays(Learning& learning, std::optional<NodeId> only) {
  if (std::optional<HasSamples> train = look(learning.partition.train, only)) {
    const auto without = std::count(train->begin(), train->end(), false);
    learning.description +=
        only ? "; without training samples of its own it only passes on what it hears"
             : fmt::format(
                   "; {} of {} nodes have no training samples and only pass on what they "
                   "hear",
                   without, train->size());
    learning.trainer =
        std::make_unique<RelayTrainer>(std::move(learning.trainer), std::move(*train));
  }
  if (std::optional<HasSamples> test = look(learning.partition.test, only))
    learning.evaluator =
        std::make_unique<RelayEvaluator>(std::move(learning.evaluator), std::move(*test));
}

}  // namespace tessera
