#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/output.h"

namespace tessera {

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(const std::string& line) {
  if (quiet_) return;
  if (terminal_)
    print_err("\r{:<{}}", line, width_);
  else
    print_err("{}\n", line);
  width_ = line.size();
}

void ProgressLine::end() {
  if (terminal_ && width_ > 0) print_err("\n");
  width_ = 0;
}

}  // namespace tessera
