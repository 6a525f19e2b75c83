// `tessera sweep`: a file of many experiments, each in a folder of its own, and their table.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/folder_lock.h"
#include "base/output.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/checkpoint_schedule.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/sweep_cells.h"
#include "cli/sweep_run.h"
#include "cli/sweep_slurm.h"
#include "report/chart_svg.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/run_folder.h"
#include "report/target.h"
#include "run/plan.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct SweepArguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::string out{}, seeds{}, columns{}, target{}, command{};
  std::string band = "range";
  std::vector<std::string> only{};
  SweepOptions run{};
  bool dry_run = false, slurm = false;
};

fs::path folder_of(const SweepArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  return fs::path("runs") / fs::path(arguments.experiment->file).stem();
}

std::size_t unfinished(const std::vector<PreparedCell>& cells) {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.is_to_run(); }));
}

int print_cells(const std::vector<PreparedCell>& cells, const fs::path& out) {
  for (const PreparedCell& cell : cells)
    print_out("{:<9}  {}\n", to_string(cell.state), cell.name());
  print_err("{} cells, {} to run, into {}\n", cells.size(), unfinished(cells), out.string());
  return 0;
}

// Not the wall time, which is another each time: a sweep that was cut short ends with the table of
// one that was not.
std::vector<std::string> columns_shown(const SweepArguments& arguments) {
  std::vector<std::string> columns = columns_of(arguments.columns);
  if (columns.empty()) {
    columns = all_columns();
    std::erase(columns, "wall_seconds");
  }
  return columns;
}

// For programs, what varies stands in columns of its own after the run's name.
std::vector<std::string> columns_written(const SweepArguments& arguments,
                                         const std::vector<PreparedCell>& cells) {
  std::vector<std::string> columns = columns_shown(arguments);
  if (!arguments.columns.empty()) return columns;
  auto place = columns.begin() + 1;
  for (const PreparedCell& cell : cells)
    for (const auto& [name, value] : cell.cell.varied)
      if (name != "case" && name != "seed" &&
          std::find(columns.begin(), columns.end(), name) == columns.end())
        place = columns.insert(place, name) + 1;
  return columns;
}

Band band_of(const SweepArguments& arguments) {
  return require_entry(bands(), "band", arguments.band).band;
}

// The table on standard output, and as files beside the cells.
void collect(const std::vector<PreparedCell>& cells, const fs::path& out,
             const SweepArguments& arguments) {
  FoundRuns found = find_runs(run_folders(cells, out));
  for (const Error& error : found.left_out) print_err("left out: {}\n", error.message);
  if (found.runs.empty()) return;
  for (StoredRun& run : found.runs)
    if (!run.finished()) run.rounds_planned = rounds_planned(run.seeds.front().folder);
  const std::vector<std::string> columns = columns_shown(arguments);
  const auto table = [&](TableFormat format) {
    return comparison_table(found.runs, format, columns);
  };
  or_throw(
      write_file(out / "table.csv", bytes_of(comparison_table(found.runs, TableFormat::kCsv,
                                                              columns_written(arguments, cells)))));
  or_throw(write_file(out / "table.tex", bytes_of(table(TableFormat::kLatex))));
  const PageOptions page{.title = out.filename().string()};
  const std::vector<MetricsTable> tables = read_metrics(found.runs);
  const std::string data = page_data(found, tables, page);
  or_throw(write_file(out / "report.html", bytes_of(page_with(data, false))));
  fs::create_directories(out / "figures");
  for (const ChartFile& chart : chart_files(found.runs, tables, band_of(arguments)))
    or_throw(write_file(out / "figures" / chart.name, bytes_of(chart.svg)));
  put_out(table(TableFormat::kPlain));
  if (!arguments.target.empty())
    print_out("\n{}", target_table(found.runs, parse_target(arguments.target)));
  for (const std::string& note : comparison_notes(found.runs)) print_err("note: {}\n", note);
  if (!arguments.run.quiet)
    print_err("written to {}: table.csv, table.tex, report.html, figures\n", out.string());
}

// Those that have come to an end by now, with all their seeds.
std::vector<PreparedCell> ended(std::vector<PreparedCell> cells) {
  std::set<std::string> under_way;
  for (const PreparedCell& cell : cells)
    if (!RunFolder::finished(cell.folder) && !RunFolder::diverged(cell.folder))
      under_way.insert(cell.cell.run);
  std::erase_if(cells, [&](const PreparedCell& cell) { return under_way.contains(cell.cell.run); });
  return cells;
}

int run_here(const std::vector<PreparedCell>& cells, const fs::path& out,
             const SweepArguments& arguments) {
  const SweepEnding ending = run_cells(cells, arguments.run);
  if (ending.stopped) {
    collect(ended(cells), out, arguments);
    print_err("stopped; the same command goes on where it was\n");
    return kInterrupted;
  }
  collect(cells, out, arguments);
  for (const SweepEnding::Failure& failure : ending.failed)
    print_err("failed: {}: {}\n", failure.cell, failure.why);
  if (ending.failed.empty()) return 0;
  print_err("{} of {} cells failed; the same command tries them again, logs are in {}\n",
            ending.failed.size(), cells.size(), (out / "logs").string());
  return 1;
}

int submit(const std::vector<PreparedCell>& cells, const fs::path& out, const std::string& script) {
  for (const PreparedCell& cell : cells)
    if (cell.is_to_run()) make_folder(cell);
  const std::string path = (out / "sweep.sbatch").string();
  or_throw(write_file(path, bytes_of(script)));
  print_err("{} cells as a job array, {}; its logs are in {}\n", unfinished(cells), path,
            (out / "logs").string());
  ::execlp("sbatch", "sbatch", path.c_str(), static_cast<char*>(nullptr));
  throw std::runtime_error(
      fmt::format("there is no sbatch on this machine; submit {} where Slurm is", path));
}

int run_slurm(const std::vector<PreparedCell>& cells, const fs::path& out,
              const SweepArguments& arguments) {
  if (unfinished(cells) == 0) {
    collect(cells, out, arguments);
    return 0;
  }
  const std::string script =
      slurm_script(cells, {.name = out.filename().string(),
                           .command = arguments.command,
                           .program = arguments.run.program,
                           .out = out,
                           .folder = fs::current_path(),
                           .checkpoint_every = arguments.run.checkpoint_every});
  if (arguments.dry_run) {
    put_out(script);
    return 0;
  }
  return submit(cells, out, script);
}

int run_sweep(SweepArguments& arguments) {
  const std::string& file = arguments.experiment->file;
  if (file.empty())
    throw std::invalid_argument(
        "name the sweep's file, such as: tessera sweep experiments/toy_sweep.toml");
  if (!arguments.run.checkpoint_every.empty())
    (void)parse_checkpoint_every(arguments.run.checkpoint_every);
  (void)columns_shown(arguments);
  (void)band_of(arguments);
  if (!arguments.target.empty()) (void)parse_target(arguments.target);
  const fs::path out = folder_of(arguments).lexically_normal();
  std::map<std::string, std::string> flags = arguments.experiment->flags;
  flags["seeds"] = arguments.seeds;
  std::vector<SweepCell> chosen = chosen_cells(read_sweep(file, flags), arguments.only);
  const std::vector<PreparedCell> cells = prepare_cells(std::move(chosen), out);
  arguments.run.program = fs::read_symlink("/proc/self/exe").string();
  if (arguments.slurm) return run_slurm(cells, out, arguments);
  if (arguments.dry_run) return print_cells(cells, out);
  const FolderLock lock(out);
  return run_here(cells, out, arguments);
}

}  // namespace

Action add_sweep(CLI::App& parser) {
  auto arguments = std::make_shared<SweepArguments>();
  arguments->experiment = add_experiment_options(parser);
  parser.footer(
      "A cell that is finished or has diverged is not run again, one that was cut short goes on "
      "from its\ncheckpoint.\n"
      "Exit codes: 0 all cells are finished or diverged, 1 some failed, 2 asked wrongly, 130 "
      "stopped by Ctrl-C\nwith checkpoints.\n\n"
      "Examples:\n"
      "  tessera sweep experiments/toy_sweep.toml --out=runs/toy\n"
      "  tessera sweep experiments/toy_sweep.toml --only=jwins --jobs=2\n"
      "  tessera sweep experiments/toy_sweep.toml --slurm --dry-run");
  parser.add_option("--out", arguments->out,
                    "The sweep's folder, with one in it for each cell (default: runs/ and the "
                    "file's name)");
  parser
      .add_option("--only", arguments->only,
                  "Just these cells, by name or a part of it: jwins, seed-90; several with commas")
      ->delimiter(',');
  parser.add_option("--seeds", arguments->seeds,
                    "Each cell with these seeds instead of the file's: 90..94 or 90,93");
  parser
      .add_option(
          "--jobs", arguments->run.jobs,
          "Cells at a time (default: one per core, or per GPU; fewer where memory is short)")
      ->check(CLI::Range(1u, 1024u));
  parser.add_option("--columns", arguments->columns,
                    "Columns of the table, with commas (default: all but the wall time)");
  parser.add_option("--target", arguments->target,
                    "Also when each run reached it: an accuracy such as 60%, or loss=1.5");
  parser.add_option("--band", arguments->band,
                    "Around curves in figures/, over seeds: range, deviation, confidence or none");
  parser.add_option("--checkpoint-every", arguments->run.checkpoint_every,
                    "Rounds or time between a cell's checkpoints, see: tessera sim --help");
  parser.add_flag("--dry-run", arguments->dry_run,
                  "List the cells and how far each is, or print the job script; run nothing");
  parser.add_flag("--slurm", arguments->slurm,
                  "Submit the cells as a Slurm job array; its script is sweep.sbatch in --out");
  parser.add_flag("--quiet", arguments->run.quiet, "No progress; the table only");
  return [arguments](const std::string& command_line) {
    arguments->command = command_line;
    return run_sweep(*arguments);
  };
}

}  // namespace tessera
