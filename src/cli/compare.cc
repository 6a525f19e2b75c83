// `tessera compare`: runs beside each other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/output.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "report/compare.h"
#include "report/target.h"
#include "run/plan.h"

namespace tessera {
namespace {

// Everything that is not the table goes to stderr, so that the table can go to a file.
int compare(const std::vector<std::string>& folders, const std::string& format,
            const std::string& target, const std::string& columns) {
  const TableFormat chosen = require_entry(table_formats(), "format", format).format;
  const std::vector<std::string> shown = columns_of(columns);
  const Target wanted = target.empty() ? Target{} : parse_target(target);
  FoundRuns found = find_runs(folders);
  for (StoredRun& run : found.runs)
    if (!run.finished()) run.rounds_planned = rounds_planned(run.seeds.front().folder);
  for (const Error& error : found.left_out) print_err("left out: {}\n", error.message);
  if (found.runs.empty()) return 1;
  print_out("{}", comparison_table(found.runs, chosen, shown));
  if (!target.empty()) print_out("\n{}", target_table(found.runs, wanted));
  for (const std::string& note : comparison_notes(found.runs)) print_err("note: {}\n", note);
  return found.left_out.empty() ? 0 : 1;
}

}  // namespace

Action add_compare(CLI::App& parser) {
  auto folders = std::make_shared<std::vector<std::string>>();
  auto format = std::make_shared<std::string>("plain");
  auto target = std::make_shared<std::string>();
  auto columns = std::make_shared<std::string>();
  parser
      .add_option("runs", *folders,
                  "Runs' folders, or folders that hold such folders; the others are compared with "
                  "the first")
      ->required();
  std::vector<std::string_view> names;
  for (const TableFormatName& known : table_formats()) names.push_back(known.name);
  parser.add_option("--format", *format, fmt::format("One of {}", join(names, ", ")));
  parser.add_option("--target", *target,
                    "Also when each run reached it: an accuracy such as 60%, or loss=1.5");
  parser.add_option(
      "--columns", *columns,
      "Columns and their order, such as run,network.slowdown,accuracy (default: all); a line of "
      "an experiment, or an option of it, can be one");
  parser.footer(
      "saved: bytes the run did not send, against the first. points: accuracy above or below the "
      "first, in\nper cent of the test data. chance: how likely such a difference is without any "
      "reason, by Welch's test\nover the seeds; below 0.05 it is worth a sentence. *: the best of "
      "its column.\n\nExamples:\n"
      "  tessera compare runs/full runs/jwins\n"
      "  tessera compare runs --format=latex --columns=run,accuracy,saved > table.tex\n"
      "  tessera compare runs/divshare runs/swift --target=60%");
  return [folders, format, target, columns](const std::string&) {
    return compare(*folders, *format, *target, *columns);
  };
}

}  // namespace tessera
