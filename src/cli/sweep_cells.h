// The cells of a sweep and their folders: what each is to be, and how far it is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/sweep.h"

namespace tessera {

enum class CellState { kNew, kCutShort, kFinished, kDiverged };
std::string_view to_string(CellState state);

struct PreparedCell {
  SweepCell cell{};
  std::filesystem::path folder{}, log{};
  std::string config{};  // What config.toml holds: the experiment with every default written out.
  CellState state = CellState::kNew;

  const std::string& name() const { return cell.name; }
  // What has diverged would do so again.
  bool is_to_run() const { return state == CellState::kNew || state == CellState::kCutShort; }
  bool on_gpu() const { return cell.experiment.device.starts_with("cuda"); }
};

// Reads every cell's lines and looks into its folder, and touches nothing. Throws
// std::invalid_argument that names the cell whose lines are wrong, or whose folder holds another
// experiment, is in use, or lies within a run of one seed.
std::vector<PreparedCell> prepare_cells(std::vector<SweepCell> cells,
                                        const std::filesystem::path& out);

// Writes the cell's config.toml where there is none, for `tessera sim` to go on from.
void make_folder(const PreparedCell& cell);

// The words that run a cell, whatever became of it before.
std::vector<std::string> cell_command(const std::string& program, const PreparedCell& cell);

// The folder of each run, in the cells' order: what a table and a report are made of.
std::vector<std::string> run_folders(const std::vector<PreparedCell>& cells,
                                     const std::filesystem::path& out);

}  // namespace tessera
