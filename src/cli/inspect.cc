// `tessera inspect`: what an experiment is, before an hour is spent on it.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "data/class_table.h"
#include "run/lesson.h"
#include "topology/describe.h"

namespace tessera {
namespace {

int inspect(const Plan& plan) {
  print_out("{}\n", to_toml(plan.experiment));
  print_out("topology: {}\n\n", describe(*plan.topology));
  if (!plan.lesson.needs_data) return 0;
  const auto [data, partition] = load_and_deal(plan.lesson.options);
  print_out("data: {} training samples, {} test samples\n\n", data.train->size(),
            data.test->size());
  print_out("{}\n", show_partition(data, partition));
  return 0;
}

}  // namespace

Action add_inspect(CLI::App& parser) {
  const auto arguments = add_experiment_options(parser);
  parser.footer(
      "Examples:\n"
      "  tessera inspect experiments/fashion.toml\n"
      "  tessera inspect --nodes=16 --data=synthetic --partition=dirichlet:alpha=0.1");
  return [arguments](const std::string&) { return inspect(read_plan(arguments->resolve())); };
}

}  // namespace tessera
