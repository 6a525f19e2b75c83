#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tessera {

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(const std::string& line) {
  if (quiet_) return;
  if (terminal_)
    fmt::print(stderr, "\r{:<{}}", line, width_);
  else
    fmt::print(stderr, "{}\n", line);
  width_ = line.size();
  std::fflush(stderr);
}

void ProgressLine::end() {
  if (terminal_ && width_ > 0) fmt::print(stderr, "\n");
  width_ = 0;
}

}  // namespace tessera
