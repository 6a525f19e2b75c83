// `tessera compare`: finished runs beside each other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "report/compare.h"

namespace tessera {
namespace {

int compare(const std::vector<std::string>& folders) {
  std::vector<FinishedRun> runs;
  bool all = true;
  for (const std::string& folder : folders) {
    const Result<FinishedRun> run = read_finished_run(folder);
    if (run.ok())
      runs.push_back(*run);
    else
      fmt::print(stderr, "left out: {}\n", run.error().message);
    all = all && run.ok();
  }
  if (!runs.empty()) fmt::print("{}", comparison_table(runs));
  return all ? 0 : 1;
}

}  // namespace

Action add_compare(CLI::App& parser) {
  auto folders = std::make_shared<std::vector<std::string>>();
  parser
      .add_option("runs", *folders,
                  "Folders that tessera sim wrote; the others are compared with the first")
      ->required();
  return [folders](const std::string&) { return compare(*folders); };
}

}  // namespace tessera
