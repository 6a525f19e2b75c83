#include "cuda/several.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/threads.h"
#include "cuda/layers.h"
#include "cuda/runtime.h"

namespace tessera::cuda {
namespace {

// The i-th of `parts` pieces of a list, whose lengths differ by one at most.
template <typename T>
std::span<T> piece(std::span<T> list, std::size_t i, std::size_t parts) {
  const std::size_t first = list.size() * i / parts, end = list.size() * (i + 1) / parts;
  return list.subspan(first, end - first);
}

// A trainer takes its own GPU on whichever thread calls it.
class SeveralTrainers final : public Trainer {
 public:
  explicit SeveralTrainers(std::vector<std::unique_ptr<Trainer>> parts)
      : parts_(std::move(parts)), threads_(static_cast<unsigned>(parts_.size())) {}

  std::size_t dimension() const override { return parts_.front()->dimension(); }
  Vector initial_model() const override { return parts_.front()->initial_model(); }
  std::vector<std::uint32_t> tensors() const override { return parts_.front()->tensors(); }
  // They remember in common.
  void fields(Archive& archive) override { parts_.front()->fields(archive); }

  void train(std::span<TrainJob> cohort) override {
    for_each_part(cohort, [](Trainer& part, std::span<TrainJob> jobs) { part.train(jobs); });
  }
  void begin(std::span<TrainJob> cohort) override {
    jobs_ = cohort.size();
    for_each_part(cohort, [](Trainer& part, std::span<TrainJob> jobs) { part.begin(jobs); });
  }
  void await(std::size_t job) override {
    std::size_t part = 0;
    while (job >= jobs_ * (part + 1) / parts_.size()) ++part;
    parts_[part]->await(job - jobs_ * part / parts_.size());
  }

 private:
  template <typename Do>
  void for_each_part(std::span<TrainJob> cohort, Do do_with) {
    threads_.for_each(parts_.size(), [&](std::size_t i) {
      const std::span<TrainJob> jobs = piece(cohort, i, parts_.size());
      if (!jobs.empty()) do_with(*parts_[i], jobs);
    });
  }

  std::vector<std::unique_ptr<Trainer>> parts_;
  Workers threads_;
  std::size_t jobs_ = 0;  // Of the cohort under way.
};

class SeveralEvaluators final : public Evaluator {
 public:
  explicit SeveralEvaluators(std::vector<std::unique_ptr<Evaluator>> parts)
      : parts_(std::move(parts)), threads_(static_cast<unsigned>(parts_.size())) {}

  bool own_samples() const override { return parts_.front()->own_samples(); }

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    CHECK(nodes.size() == models.size());
    std::vector<std::vector<Score>> found(parts_.size());
    threads_.for_each(parts_.size(), [&](std::size_t i) {
      const std::span<const NodeId> own = piece(nodes, i, parts_.size());
      if (!own.empty()) found[i] = parts_[i]->evaluate(own, piece(models, i, parts_.size()));
    });
    std::vector<Score> scores;
    for (const std::vector<Score>& part : found)
      scores.insert(scores.end(), part.begin(), part.end());
    return scores;
  }

 private:
  std::vector<std::unique_ptr<Evaluator>> parts_;
  Workers threads_;
};

std::shared_ptr<const ResidentData> load(const Dataset& dataset, const Task& task, bool as_pairs) {
  try {
    return std::make_shared<const ResidentData>(dataset, task, as_pairs);
  } catch (const OutOfMemory&) {
    const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 0x1p30; };
    throw OutOfMemory(fmt::format(
        "device: {} samples take {:.2f} GiB of the GPU's memory and {:.2f} are free: use another "
        "GPU, as in device=cuda:1, fewer samples, or device=cpu",
        dataset.size(), gib(ResidentData::bytes_for(dataset.size(), task, as_pairs)),
        gib(gpu_memory().free_bytes)));
  }
}

}  // namespace

Gpus::Gpus(const DeviceOptions& device, unsigned threads)
    : threads_(threads_or_one_per_core(threads)) {
  const std::vector<int> named = device.gpus.empty() ? std::vector{device.index} : device.gpus;
  for (const int gpu : named) {
    use_gpu(gpu);
    DeviceOptions& part = parts_.emplace_back(device);
    part.gpus = {gpu};
    part.index = gpu;
    part.sharers = static_cast<unsigned>(std::count(named.begin(), named.end(), gpu));
    std::shared_ptr<BusyClock>& clock = clocks_[gpu];
    if (!clock) clock = std::make_shared<BusyClock>();
  }
}

std::vector<InCommon> Gpus::places(const Dataset& dataset, const Model& model) const {
  std::map<int, std::shared_ptr<const ResidentData>> resident;
  const auto remembered = std::make_shared<std::vector<OptimizerState>>();
  std::vector<InCommon> places;
  for (const DeviceOptions& part : parts_) {
    use_gpu(part.index);
    std::shared_ptr<const ResidentData>& data = resident[part.index];
    if (!data) data = load(dataset, model.task, takes_pixel_pairs(model, part.precision));
    places.push_back({.data = data,
                      .clock = clocks_.at(part.index),
                      .states = remembered,
                      .threads = std::max(1u, threads_ / static_cast<unsigned>(parts_.size()))});
  }
  return places;
}

std::unique_ptr<Trainer> Gpus::trainer(const StackedTrainerParts& parts) const {
  const std::vector<InCommon> places = this->places(*parts.train, parts.model);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    use_gpu(parts_[i].index);
    StackedTrainerParts own = parts;
    own.device = parts_[i];
    trainers.push_back(make_trainer(std::move(own), places[i]));
  }
  if (trainers.size() == 1) return std::move(trainers.front());
  return std::make_unique<SeveralTrainers>(std::move(trainers));
}

std::unique_ptr<Evaluator> Gpus::evaluator(const StackedEvaluatorParts& parts) const {
  const std::vector<InCommon> places = this->places(*parts.test, parts.model);
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    use_gpu(parts_[i].index);
    StackedEvaluatorParts own = parts;
    own.device = parts_[i];
    evaluators.push_back(make_evaluator(std::move(own), places[i]));
  }
  if (evaluators.size() == 1) return std::move(evaluators.front());
  return std::make_unique<SeveralEvaluators>(std::move(evaluators));
}

GpuUse Gpus::use() const {
  GpuUse use{.gpus = static_cast<unsigned>(clocks_.size())};
  for (const auto& [gpu, clock] : clocks_) use.busy_s += clock->seconds();
  return use;
}

}  // namespace tessera::cuda
