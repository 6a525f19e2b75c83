#include "cli/sweep_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/output.h"
#include "base/text.h"
#include "cli/child_process.h"

namespace tessera {
namespace {

constexpr double kPeriod = 0.2;  // Seconds.

struct Screen {
  std::size_t columns = 80, rows = 24;
};

Screen screen_of_stderr() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, size.ws_row};
}

// Bytes that begin no letter are dropped with the one they belong to.
std::string cut(std::string text, std::size_t columns) {
  if (text.size() < columns) return text;
  text.resize(columns - 1);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  return text;
}

}  // namespace

SweepProgress::SweepProgress(std::size_t cells, std::size_t done, bool quiet)
    : cells_(cells),
      done_(done),
      before_(done),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

void SweepProgress::erase() {
  if (lines_ > 0) print_err("\x1b[{}A\r\x1b[J", lines_);
  lines_ = 0;
}

// With the time left, as if the cells to come took as long as those that have ended.
std::string SweepProgress::counts(std::size_t running) const {
  std::string line = fmt::format("{} of {} done, {} running", done_, cells_, running);
  if (done_ == before_ || done_ == cells_) return line;
  const double each = all_.seconds() / static_cast<double>(done_ - before_);
  const double left = each * static_cast<double>(cells_ - done_);
  return fmt::format("{}, about {} left", line,
                     show_duration(Duration(static_cast<std::int64_t>(left * 1e9))));
}

void SweepProgress::ended(const PreparedCell& cell, std::string_view how) {
  ++done_;
  if (quiet_) return;
  erase();
  print_err("{:>{}}/{}  {}  {}\n", done_, std::to_string(cells_).size(), cells_, cell.name(), how);
}

void SweepProgress::show(std::span<const PreparedCell* const> running) {
  if (quiet_ || !terminal_ || since_.seconds() < kPeriod) return;
  since_.restart();
  const Screen screen = screen_of_stderr();
  const std::size_t shown = std::min(running.size(), std::max<std::size_t>(screen.rows, 7) - 5);
  std::string block = counts(running.size()) + "\n";
  for (const PreparedCell* cell : running.first(shown))
    block +=
        cut(fmt::format("  {}  {}", cell->name(), last_line_of(cell->log)), screen.columns) + "\n";
  if (shown < running.size()) block += fmt::format("  and {} more\n", running.size() - shown);
  erase();
  put_err(block);
  lines_ = static_cast<std::size_t>(std::count(block.begin(), block.end(), '\n'));
}

void SweepProgress::end() {
  erase();
}

}  // namespace tessera
