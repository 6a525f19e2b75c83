// `tessera report`: runs as one HTML page, or their rows as CSV.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "report/metrics_csv.h"
#include "report/page.h"
#include "report/stored_run.h"

namespace tessera {
namespace {

struct ReportArguments {
  std::vector<std::string> folders{};
  std::string out = "report.html";
  std::string csv{};
  PageOptions page{};
};

void write_and_say(const std::string& path, const std::string& text, std::size_t runs) {
  if (path == "-" || path == "/dev/stdout") return put_out(text);
  or_throw(write_file(path, bytes_of(text)));
  print_out("{}: {} {}, {}\n", path, runs, runs == 1 ? "run" : "runs",
            show_bytes(static_cast<double>(text.size())));
}

int report(const ReportArguments& arguments) {
  const FoundRuns found = find_runs(arguments.folders);
  for (const Error& error : found.left_out) print_err("left out: {}\n", error.message);
  if (found.runs.empty()) return 1;
  for (const StoredRun& run : found.runs)
    if (!run.finished()) print_err("{} is not finished: it is shown as far as it is\n", run.name);
  const std::vector<MetricsTable> tables = read_metrics(found.runs);
  for (const MetricsTable& table : tables)
    if (!table.note.empty()) print_err("left out: {}\n", table.note);
  if (!arguments.csv.empty()) {
    write_and_say(arguments.csv, metrics_csv(found.runs, tables), found.runs.size());
  } else {
    const std::string data = page_data(found, tables, arguments.page);
    write_and_say(arguments.out, page_with(data, false), found.runs.size());
  }
  return found.left_out.empty() ? 0 : 1;
}

}  // namespace

Action add_report(CLI::App& parser) {
  auto arguments = std::make_shared<ReportArguments>();
  parser.add_option("runs", arguments->folders, "Runs' folders, or folders that hold such folders")
      ->required();
  parser.add_option("--out", arguments->out, "The page (default: report.html)");
  parser.add_option(
      "--csv", arguments->csv,
      "Instead of a page: every row of every run as CSV, into this file; - prints it");
  parser.add_option("--title", arguments->page.title, "Its title (default: the runs' names)");
  parser
      .add_option("--rows", arguments->page.rows_max,
                  "Rows drawn of each run (default: as many as keep the page near 1 MB)")
      ->check([](const std::string& text) { return whole_number_fault(text, at_least(1)); });
  parser.footer(
      "Examples:\n"
      "  tessera report runs/full runs/jwins --out=report.html\n"
      "  tessera report runs --csv=rows.csv");
  return [arguments](const std::string&) { return report(*arguments); };
}

}  // namespace tessera
