#include "learn/stacked_bench.h"

#include <memory>
#include <vector>

#include "data/partition.h"
#include "data/stores.h"

namespace tessera {
namespace {

constexpr std::size_t kFewSteps = 2, kSamplesOfNode = 32;

std::shared_ptr<const Dataset> made_up(const Task& task, std::size_t count) {
  Random random(6);
  std::vector<float> features(count * task.features()), targets(count);
  const auto below = [&](std::uint32_t end) { return static_cast<float>(random.below(end)); };
  for (std::size_t i = 0; i < features.size(); ++i)
    features[i] = task.kind == Task::Kind::kRatings  ? below(i % 2 ? task.items : task.users)
                  : task.kind == Task::Kind::kTokens ? below(task.vocabulary)
                                                     : static_cast<float>(2 * random.uniform() - 1);
  for (float& target : targets) target = below(task.classes > 0 ? task.classes : 6);
  return std::make_shared<FloatSamples>(task.features(), std::move(features), std::move(targets));
}

Task images(std::uint32_t channels, std::uint32_t side, std::uint32_t classes) {
  return {.kind = Task::Kind::kImages, .shape = {channels, side, side}, .classes = classes};
}

}  // namespace

std::span<const StackedCase> stacked_cases() {
  static const std::vector<StackedCase> kCases = {
      {"gn-lenet", "CIFAR-10", images(3, 32, 10), 8, 6},
      {"celeba-cnn", "CelebA", images(3, 84, 2), 8, 6},
      {"femnist-cnn", "FEMNIST", images(1, 28, 62), 16, 6},
      {"lstm",
       "Shakespeare",
       {.kind = Task::Kind::kTokens, .shape = {80}, .classes = 92, .vocabulary = 92},
       16,
       4},
      {"matrix-factorization",
       "MovieLens",
       {.kind = Task::Kind::kRatings, .shape = {2}, .users = 610, .items = 9'724},
       32,
       200}};
  return kCases;
}

double seconds_of_round(const Bench& bench, Trainer& trainer, std::uint32_t nodes) {
  std::vector<Vector> models(nodes, trainer.initial_model());
  return bench
      .time([&] {
        std::vector<TrainJob> jobs;
        for (NodeId node = 0; node < nodes; ++node)
          jobs.push_back({node, models[node], Random(1).fork("node", node)});
        trainer.train(jobs);
      })
      .median_s;
}

StackedTimes time_stacked(const Bench& bench, const StackedCase& what, std::uint32_t nodes,
                          std::string_view device, std::span<const Backend> backends) {
  LoadedData data;
  data.name = what.data;
  data.task = what.task;
  data.train = made_up(what.task, nodes * kSamplesOfNode);
  data.test = made_up(what.task, nodes);
  const auto seconds = [&](std::size_t steps) {
    const Learning learning =
        make_learning(data, partition_data(data, "iid", nodes, Random(1)),
                      {.model = parse_spec(what.model),
                       .training = {.lr = 0.01f, .batch = what.batch, .steps = steps},
                       .device = parse_device(device),
                       .backends = backends});
    return seconds_of_round(bench, *learning.trainer, nodes);
  };
  const double few = seconds(kFewSteps), more = seconds(kFewSteps + what.steps);
  return {.step_ms = (more - few) / static_cast<double>(what.steps) * 1e3, .round_ms = few * 1e3};
}

}  // namespace tessera
