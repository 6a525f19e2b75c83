// Runs the cells of a sweep on this machine, each a process of its own, several at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/sweep_cells.h"

namespace tessera {

struct SweepOptions {
  unsigned jobs = 0;  // At a time; 0: one per core, or per GPU for cells that train there.
  std::string checkpoint_every{};  // As `tessera sim` has it.
  std::string program{};
  bool quiet = false;
};

struct SweepEnding {
  struct Failure {
    std::string cell{}, why{};
  };
  std::vector<Failure> failed{};
  bool stopped = false;  // By a signal; cells that ran have their checkpoints.
};

// Those that are to run, in their order. A cell that fails keeps no other from running, and one
// that diverges has not failed: that is what it came to.
SweepEnding run_cells(const std::vector<PreparedCell>& cells, const SweepOptions& options);

}  // namespace tessera
