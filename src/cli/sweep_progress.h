// A sweep for whoever watches: on a terminal a line per running cell, rewritten in place below
// those that have ended; elsewhere a line when a cell ends.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/stopwatch.h"
#include "cli/sweep_cells.h"

namespace tessera {

class SweepProgress {
 public:
  SweepProgress(std::size_t cells, std::size_t done, bool quiet);

  void ended(const PreparedCell& cell, std::string_view how);
  void show(std::span<const PreparedCell* const> running);  // A few times a second at most.
  void end();

 private:
  void erase();

  std::string counts(std::size_t running) const;

  std::size_t cells_, done_, before_;
  bool quiet_, terminal_;
  std::size_t lines_ = 0;  // On the screen, to be written over.
  Stopwatch since_{}, all_{};
};

}  // namespace tessera
