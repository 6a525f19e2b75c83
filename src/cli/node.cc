// `tessera node`: one live peer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/output.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/live_node.h"
#include "live/log_line.h"
#include "report/watch.h"
#include "run/live_fleet_feed.h"
#include "run/live_run.h"
#include "run/made.h"

namespace tessera {
namespace {

constexpr int kRemovedByOwner = 4;

struct NodeArguments {
  std::string file{};
  std::map<std::string, std::string> flags{};
  std::string watch{};
};

// For the signals' handler. Once the run is ending, what comes changes nothing.
std::atomic<LiveRun*> running = nullptr;
struct NoLongerRunning {
  ~NoLongerRunning() { running = nullptr; }
};

class NodeLog {
 public:
  explicit NodeLog(const LiveSettings& settings)
      : node_(settings.name), form_(parse_log_form(settings.log)) {}

  void say(LogLevel level, std::string_view line) {
    write({.level = level, .text = std::string(line)});
  }
  void progress(const NodeStatus& status) {
    const ProgressFigures figures = progress_of(status);
    write({.text = to_text(figures), .progress = figures});
  }

 private:
  void write(LogLine line) {
    line.time = time_of_day();
    line.node = node_;
    print_err("{}", show(line, form_));
  }

  std::string node_;
  LogForm form_;
};

// A page of all members of the node's roster, asked with its key.
std::unique_ptr<Watch> start_page(const std::string& port, const LiveSettings& settings,
                                  NodeLog& log) {
  if (port.empty()) return nullptr;
  const std::string title = std::filesystem::path(settings.roster).stem().string();
  auto page = make_watch(port, watch_fleet(title, ask_roster(settings.roster, settings.key)));
  log.say(LogLevel::kInfo, fmt::format("watch it at {} (from this machine only)", page->address()));
  return page;
}

int run_to_end(const LiveSettings& settings, const std::string& command, NodeLog& log) {
  LiveRun node(settings,
               {.say = [&](LogLevel level, std::string_view line) { log.say(level, line); },
                .on_progress = [&](const NodeStatus& status) { log.progress(status); }});
  const NoLongerRunning at_the_end;
  running = &node;
  listen_for({SIGTERM, SIGINT, SIGHUP}, SecondSignal::kChangesNothing, [] {
    if (LiveRun* const live = running.load()) live->stop();
  });
  const RunEnd end = node.run(command, made_now());
  if (end == RunEnd::kFellShort) {
    log.say(LogLevel::kError, "at the end, but its work is not done: " + node.shortfall());
    return kWorkNotDone;
  }
  if (end == RunEnd::kRemoved) {
    log.say(LogLevel::kError,
            "removed from the roster by its owner, before its end; stopped, with a checkpoint");
    return kRemovedByOwner;
  }
  log.say(LogLevel::kInfo, end == RunEnd::kFinished   ? "done"
                           : end == RunEnd::kNotBegun ? "stopped before it began"
                                                      : "stopped, with a checkpoint");
  return 0;
}

}  // namespace

int run_node(const LiveSettings& settings, const std::string& watch, const std::string& command) {
  NodeLog log(settings);
  try {
    const std::unique_ptr<Watch> page = start_page(watch, settings, log);
    return run_to_end(settings, command, log);
  } catch (const std::exception&) {
    const Failure failure = failure_of(std::current_exception());
    log.say(LogLevel::kError, failure.text);
    return failure.code;
  }
}

Action add_node(CLI::App& parser) {
  auto arguments = std::make_shared<NodeArguments>();
  parser.add_option("file", arguments->file, "TOML file; flags win over what it says");
  for (const LiveKey& key : live_keys())
    parser.add_option("--" + std::string(key.name), arguments->flags[std::string(key.name)],
                      std::string(key.summary));
  parser.add_flag("--watch{any}", arguments->watch,
                  "Show all members in a browser on this machine while it runs; --watch=PORT takes "
                  "that port");
  parser.footer(
      "SIGTERM, Ctrl-C and a closed terminal: finishes the round, writes a checkpoint, takes "
      "leave, exits with 0.\n"
      "Started again, it goes on from there. Exit codes: 0 done or stopped, 1 failed, 2 asked "
      "wrongly,\n3 came to the end with rounds skipped or most of them alone, 4 removed from the "
      "roster by "
      "its owner.\n\n"
      "Example:\n"
      "  tessera node alice.toml --metrics=127.0.0.1:9464");
  return [arguments](const std::string& command_line) {
    return run_node(read_live_settings(arguments->file, arguments->flags), arguments->watch,
                    command_line);
  };
}

}  // namespace tessera
