#include "cli/sweep_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <stdexcept>

#include "base/output.h"
#include "cli/child_process.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/sweep_progress.h"
#include "report/run_folder.h"

namespace tessera {
namespace {

constexpr unsigned kTick = 20'000;  // Microseconds.

struct RunningCell {
  const PreparedCell* cell = nullptr;
  pid_t pid = 0;
  unsigned place = 0;  // Among those that run at a time; says which GPU is its own.
};

// How many cells run at a time, and what each of them has.
struct Allotment {
  unsigned jobs = 1;
  unsigned threads = 1;
  std::vector<std::string> gpus{};
};

Allotment allotment_of(const SweepOptions& options, std::size_t cells, bool on_gpu) {
  Allotment each;
  if (on_gpu) each.gpus = gpus();
  const unsigned cores = cores_allowed();
  const std::size_t places = options.jobs > 0 ? options.jobs
                             : on_gpu         ? std::max<std::size_t>(1, each.gpus.size())
                                              : cores;
  each.jobs =
      static_cast<unsigned>(std::clamp<std::size_t>(places, 1, std::max<std::size_t>(1, cells)));
  each.threads = std::max(1u, cores / each.jobs);
  return each;
}

std::string why_it_ended(int code, const PreparedCell& cell) {
  std::string last = last_line_of(cell.log);
  if (last.starts_with("tessera: ")) last.erase(0, 9);
  if (code == kInterrupted) return "was stopped, with a checkpoint";
  if (code > 128) return fmt::format("was ended by signal {}; its last line: {}", code - 128, last);
  return last.empty() ? fmt::format("exit code {}", code) : last;
}

// The cells on their way.
class Runner {
 public:
  Runner(const std::vector<PreparedCell>& cells, const SweepOptions& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  bool done() const { return waiting_.empty() && running_.empty(); }
  void start_what_fits();
  void reap();
  void stop();  // In order: each writes its checkpoint.
  void show();
  SweepEnding ending();

 private:
  bool memory_allows();
  void start(const PreparedCell& cell);
  void note_end(const RunningCell& ended, int code);

  const SweepOptions& options_;
  std::deque<const PreparedCell*> waiting_{};
  std::vector<RunningCell> running_{};
  Allotment each_{};
  SweepProgress progress_;
  std::uint64_t peak_ = 0;        // Bytes; of the largest cell so far.
  bool first_has_begun_ = false;  // Its data is loaded, so that `peak_` says something.
  SweepEnding ending_{};
};

std::size_t finished_of(const std::vector<PreparedCell>& cells) {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const PreparedCell& cell) { return !cell.is_to_run(); }));
}

Runner::Runner(const std::vector<PreparedCell>& cells, const SweepOptions& options)
    : options_(options), progress_(cells.size(), finished_of(cells), options.quiet) {
  bool on_gpu = false;
  for (const PreparedCell& cell : cells)
    if (cell.is_to_run()) {
      waiting_.push_back(&cell);
      on_gpu |= cell.on_gpu();
    }
  each_ = allotment_of(options, waiting_.size(), on_gpu);
  if (!options.quiet && !waiting_.empty())
    print_err("{} cells, {} finished before; {} at a time, {} thread{} each\n", cells.size(),
              finished_of(cells), each_.jobs, each_.threads, each_.threads == 1 ? "" : "s");
}

Runner::~Runner() {
  for (const RunningCell& one : running_) end_child(one.pid);
}

// Whether one cell more as large as the largest fits beside what the others may still grow by.
bool Runner::memory_allows() {
  if (running_.empty()) return true;
  std::uint64_t growth = 0;
  for (const RunningCell& one : running_) peak_ = std::max(peak_, memory_peak_of(one.pid));
  for (const RunningCell& one : running_)
    growth += peak_ - std::min(peak_, memory_peak_of(one.pid));
  first_has_begun_ = first_has_begun_ || !last_line_of(running_.front().cell->log).empty();
  return first_has_begun_ && peak_ + growth <= memory_available();
}

void Runner::start(const PreparedCell& cell) {
  unsigned place = 0;
  const auto taken = [&](const RunningCell& one) { return one.place == place; };
  while (std::any_of(running_.begin(), running_.end(), taken)) ++place;
  make_folder(cell);
  std::error_code ignored;
  std::filesystem::remove(cell.log, ignored);
  ChildCommand command{.words = cell_command(options_.program, cell), .log = cell.log};
  command.words.push_back(fmt::format("--threads={}", each_.threads));
  if (!options_.checkpoint_every.empty())
    command.words.push_back("--checkpoint-every=" + options_.checkpoint_every);
  if (!each_.gpus.empty())
    command.environment.emplace_back("CUDA_VISIBLE_DEVICES", each_.gpus[place % each_.gpus.size()]);
  running_.push_back({&cell, start_child(std::move(command)), place});
}

void Runner::start_what_fits() {
  while (!waiting_.empty() && running_.size() < each_.jobs && memory_allows()) {
    const PreparedCell& cell = *waiting_.front();
    waiting_.pop_front();
    try {
      start(cell);
    } catch (const std::runtime_error& error) {
      ending_.failed.push_back({cell.name(), error.what()});
      progress_.ended(cell, fmt::format("failed: {}", error.what()));
    }
  }
}

void Runner::note_end(const RunningCell& ended, int code) {
  first_has_begun_ = true;
  const PreparedCell& cell = *ended.cell;
  if (code == 0) {
    progress_.ended(cell, "finished");
  } else if (RunFolder::diverged(cell.folder)) {
    progress_.ended(cell, "diverged");
  } else if (!ending_.stopped) {
    const std::string why = why_it_ended(code, cell);
    ending_.failed.push_back({cell.name(), why});
    progress_.ended(cell, "failed: " + why);
  }
}

void Runner::reap() {
  std::erase_if(running_, [&](const RunningCell& one) {
    const std::optional<int> code = ended_child(one.pid);
    if (code) note_end(one, *code);
    return code.has_value();
  });
}

void Runner::stop() {
  if (ending_.stopped) return;
  ending_.stopped = true;
  waiting_.clear();
  if (!options_.quiet && !running_.empty())
    print_err("stopping {} cell{}\n", running_.size(), running_.size() == 1 ? "" : "s");
  for (const RunningCell& one : running_) ::kill(one.pid, SIGINT);
}

void Runner::show() {
  std::vector<const PreparedCell*> cells;
  for (const RunningCell& one : running_) cells.push_back(one.cell);
  progress_.show(cells);
}

SweepEnding Runner::ending() {
  progress_.end();
  return std::move(ending_);
}

}  // namespace

SweepEnding run_cells(const std::vector<PreparedCell>& cells, const SweepOptions& options) {
  // A second signal ends the sweep at once, and its cells with it.
  listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kEndsAtOnce);
  Runner runner(cells, options);
  for (;;) {
    if (interrupted()) runner.stop();
    runner.reap();
    if (!interrupted()) runner.start_what_fits();
    if (runner.done()) return runner.ending();
    runner.show();
    ::usleep(kTick);
  }
}

}  // namespace tessera
