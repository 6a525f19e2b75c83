// `tessera report`: runs as one HTML page, or their rows as CSV.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/output.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "report/chart_svg.h"
#include "report/metrics_csv.h"
#include "report/page.h"
#include "report/stored_run.h"

namespace tessera {
namespace {

struct ReportArguments {
  std::vector<std::string> folders{};
  std::string out = "report.html";
  std::string csv{}, svg{};
  std::string band = "range";
  PageOptions page{};
};

void write_and_say(const std::string& path, const std::string& text, std::size_t runs) {
  if (path == "-" || path == "/dev/stdout") return put_out(text);
  or_throw(write_file(path, bytes_of(text)));
  print_out("{}: {} {}, {}\n", path, runs, runs == 1 ? "run" : "runs",
            show_bytes(static_cast<double>(text.size())));
}

void write_charts(const std::string& folder, std::span<const StoredRun> runs,
                  std::span<const MetricsTable> tables, Band band) {
  const std::vector<ChartFile> charts = chart_files(runs, tables, band);
  for (const ChartFile& chart : charts)
    or_throw(write_file(std::filesystem::path(folder) / chart.name, bytes_of(chart.svg)));
  print_out("{}: {} charts as SVG\n", folder, charts.size());
}

int report(const ReportArguments& arguments) {
  const Band band = require_entry(bands(), "band", arguments.band).band;
  const FoundRuns found = find_runs(arguments.folders);
  for (const Error& error : found.left_out) print_err("left out: {}\n", error.message);
  if (found.runs.empty()) return 1;
  for (const StoredRun& run : found.runs)
    if (!run.finished())
      print_err("{} {}: it is shown as far as it is\n", run.name,
                run.diverged() > 0 ? "has diverged" : "is not finished");
  const std::vector<MetricsTable> tables = read_metrics(found.runs);
  for (const MetricsTable& table : tables)
    if (!table.note.empty()) print_err("left out: {}\n", table.note);
  if (!arguments.svg.empty()) {
    std::filesystem::create_directories(arguments.svg);
    write_charts(arguments.svg, found.runs, tables, band);
  } else if (!arguments.csv.empty()) {
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
  parser.add_option("--svg", arguments->svg,
                    "Instead of a page: its charts as SVG files for a paper, into this folder");
  std::vector<std::string_view> names;
  for (const BandName& known : bands()) names.push_back(known.name);
  parser.add_option("--band", arguments->band,
                    fmt::format("Around the curves of --svg, over seeds: {} (default: range)",
                                join(names, ", ")));
  parser.add_option("--title", arguments->page.title, "Its title (default: the runs' names)");
  parser
      .add_option("--rows", arguments->page.rows_max,
                  "Rows drawn of each run (default: as many as keep the page near 1 MB)")
      ->check([](const std::string& text) { return whole_number_fault(text, at_least(1)); });
  parser.footer(
      "Examples:\n"
      "  tessera report runs/full runs/jwins --out=report.html\n"
      "  tessera report runs --csv=rows.csv\n"
      "  tessera report runs --svg=figures --band=confidence");
  return [arguments](const std::string&) { return report(*arguments); };
}

}  // namespace tessera
