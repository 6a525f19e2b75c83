// A sweep as a Slurm job array: a script that people can read, change and submit again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/sweep_cells.h"

namespace tessera {

struct SlurmOptions {
  std::string name{};     // The job's.
  std::string command{};  // What was typed.
  std::string program{};
  std::filesystem::path out{}, folder{};  // The sweep's, and where the jobs run.
  std::string checkpoint_every{};
};

// Of the cells that are not finished, of which there must be one.
std::string slurm_script(const std::vector<PreparedCell>& cells, const SlurmOptions& options);

}  // namespace tessera
