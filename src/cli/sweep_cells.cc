#include "cli/sweep_cells.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "base/files.h"
#include "base/folder_lock.h"
#include "base/stopwatch.h"
#include "report/run_folder.h"
#include "run/plan.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr double kPatience = 3;  // Seconds; cells whose sweep was killed end a moment after it.

void wait_until_free(const fs::path& folder, const Stopwatch& waiting) {
  for (;;) {
    try {
      return FolderLock::check(folder);
    } catch (const std::invalid_argument&) {
      if (waiting.seconds() > kPatience) throw;
    }
    ::usleep(20'000);
  }
}

// Whoever reads the folder would take that run for the whole of it.
void refuse_single_run(const SweepCell& cell, const fs::path& out) {
  std::error_code ignored;
  const fs::path run = out / cell.run;
  if (cell.run.empty() || cell.run == cell.name || !fs::exists(run / "config.toml", ignored))
    return;
  throw std::invalid_argument(
      fmt::format("{0} holds a run of one seed, and cell {1} would lie within it: move its "
                  "config.toml, metrics.jsonl, summary.json and checkpoint to {0}/seed-N, N being "
                  "the seed in config.toml, or delete them where that is there already",
                  run.string(), cell.name));
}

PreparedCell prepare(SweepCell cell, const fs::path& out, const Stopwatch& waiting) {
  PreparedCell prepared{.folder = out / cell.name, .log = out / "logs" / (cell.name + ".log")};
  try {
    prepared.config = to_toml(read_plan(cell.experiment).experiment);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("cell {}: {}", cell.name, error.what()));
  }
  refuse_single_run(cell, out);
  wait_until_free(prepared.folder, waiting);
  RunFolder::check(prepared.folder, prepared.config, ExistingRun::kResume);
  std::error_code ignored;
  if (RunFolder::finished(prepared.folder))
    prepared.state = CellState::kFinished;
  else if (RunFolder::diverged(prepared.folder))
    prepared.state = CellState::kDiverged;
  else if (fs::exists(prepared.folder / "metrics.jsonl", ignored))
    prepared.state = CellState::kCutShort;
  prepared.cell = std::move(cell);
  return prepared;
}

}  // namespace

std::string_view to_string(CellState state) {
  return state == CellState::kFinished   ? "finished"
         : state == CellState::kDiverged ? "diverged"
         : state == CellState::kNew      ? "new"
                                         : "cut short";
}

std::vector<PreparedCell> prepare_cells(std::vector<SweepCell> cells, const fs::path& out) {
  std::error_code ignored;
  if (fs::exists(out / "config.toml", ignored))
    throw std::invalid_argument(
        fmt::format("{} holds a run of its own; choose another --out for the sweep", out.string()));
  const Stopwatch waiting;
  std::vector<PreparedCell> prepared;
  for (SweepCell& cell : cells) prepared.push_back(prepare(std::move(cell), out, waiting));
  return prepared;
}

void make_folder(const PreparedCell& cell) {
  std::error_code failed;
  fs::create_directories(cell.folder, failed);
  if (!failed) fs::create_directories(cell.log.parent_path(), failed);
  if (failed)
    throw std::runtime_error(
        fmt::format("cannot create {}: {}", cell.folder.string(), failed.message()));
  if (!fs::exists(cell.folder / "config.toml", failed))
    or_throw(write_file(cell.folder / "config.toml", bytes_of(cell.config)));
}

std::vector<std::string> cell_command(const std::string& program, const PreparedCell& cell) {
  return {program, "sim", (cell.folder / "config.toml").string(), "--out=" + cell.folder.string(),
          "--resume"};
}

std::vector<std::string> run_folders(const std::vector<PreparedCell>& cells, const fs::path& out) {
  std::vector<std::string> folders;
  for (const PreparedCell& cell : cells) {
    const std::string folder = (cell.cell.run.empty() ? out : out / cell.cell.run).string();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  return folders;
}

}  // namespace tessera
