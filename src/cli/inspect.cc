// `tessera inspect`: what an experiment is, before an hour is spent on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "cli/world.h"
#include "data/class_table.h"
#include "topology/describe.h"

namespace tessera {
namespace {

int inspect(const Experiment& experiment) {
  fmt::print("{}\n", to_toml(experiment));
  fmt::print("topology: {}\n\n", describe(*make_topology(experiment)));
  if (is_toy(experiment)) return 0;
  const LearningOptions options = learning_options(experiment);
  const LoadedData data = load_data(options);
  fmt::print("data: {} training samples, {} test samples\n\n", data.train->size(),
             data.test->size());
  fmt::print("{}\n", show_partition(data, deal_data(options, data)));
  return 0;
}

}  // namespace

Action add_inspect(CLI::App& parser) {
  const auto arguments = add_experiment_options(parser);
  parser.footer(
      "Examples:\n"
      "  tessera inspect experiments/fashion/full.toml\n"
      "  tessera inspect --nodes=16 --data=synthetic --partition=dirichlet:alpha=0.1");
  return [arguments](const std::string&) { return inspect(arguments->resolve()); };
}

}  // namespace tessera
