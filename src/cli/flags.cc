#include "cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "report/compare.h"

namespace tessera {

std::shared_ptr<ExperimentArguments> add_experiment_options(CLI::App& parser) {
  auto arguments = std::make_shared<ExperimentArguments>();
  parser.add_option("experiment", arguments->file, "TOML file; flags win over what it says");
  for (const ExperimentKey& key : experiment_keys())
    parser
        .add_option("--" + std::string(key.name), arguments->flags[std::string(key.name)],
                    std::string(key.summary))
        ->group("Experiment");
  return arguments;
}

std::vector<std::string> columns_of(std::string_view text) {
  std::vector<std::string_view> keys;
  for (const ExperimentKey& key : experiment_keys()) keys.push_back(key.name);
  return parse_columns(text, keys);
}

std::string whole_number_fault(std::string_view text, Interval accepted) {
  try {
    if (accepted.contains(static_cast<double>(parse_integer(text)))) return {};
  } catch (const std::invalid_argument& error) {
    return fmt::format("{}; it must be {}", error.what(), accepted.to_string());
  }
  return fmt::format("{} must be a whole number, {}", text, accepted.to_string());
}

}  // namespace tessera
