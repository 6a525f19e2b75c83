#include "run/live_agreement.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "data/own_data.h"

namespace tessera {
namespace {

std::uint64_t digest_of_samples(const Dataset& samples, const Task& task) {
  std::vector<float> features(task.features() + 1);
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    features.back() = samples.get(i, std::span(features).first(task.features()));
    digest = hash_bytes(bytes_of(std::span<const float>(features)), digest);
  }
  return digest;
}

void add_data(const Plan& plan, const Learning& lesson, Agreement& agreement) {
  const LoadedData& data = lesson.data;
  for (const auto& [name, value] : traits_of(data)) agreement.add(name, value);
  if (!plan.own_data())
    agreement.add("samples", fmt::format("{} to train on, {} to test on", data.loaded.train,
                                         data.loaded.test));
  else if (lesson.partition.test.empty())
    agreement.add("shared test samples", fmt::format("{}, digest {:016x}", data.test->size(),
                                                     digest_of_samples(*data.test, data.task)));
}

}  // namespace

Agreement agreement_of(const Plan& plan, const Learning& lesson) {
  Agreement agreement;
  for (const ExperimentKey& key : experiment_keys())
    agreement.add(key.name, key.name == "data" && plan.own_data()
                                ? plan.lesson.options.data.spec.name
                                : plan.experiment.*(key.value));
  if (lesson.data.train) add_data(plan, lesson, agreement);
  return agreement;
}

}  // namespace tessera
