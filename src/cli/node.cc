// `tessera node`: one live peer.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "base/output.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "run/live_run.h"
#include "run/made.h"

namespace tessera {
namespace {

struct NodeArguments {
  std::string file{};
  std::map<std::string, std::string> flags{};
};

// For the signals' handler. Once the run is ending, what comes changes nothing.
std::atomic<LiveRun*> running = nullptr;
struct NoLongerRunning {
  ~NoLongerRunning() { running = nullptr; }
};

int run_node(const LiveSettings& settings, const std::string& command) {
  const Stopwatch watch;
  LiveRun node(settings, {.say = [&](std::string_view line) {
                 print_err("{:9.3f} {}\n", watch.seconds(), line);
               }});
  const NoLongerRunning at_the_end;
  running = &node;
  listen_for({SIGTERM, SIGINT, SIGHUP}, SecondSignal::kChangesNothing, [] {
    if (LiveRun* const live = running.load()) live->stop();
  });
  const RunEnd end = node.run(command, made_now());
  if (end == RunEnd::kFellShort) {
    print_err("at the end, but its work is not done: {}\n", node.shortfall());
    return kWorkNotDone;
  }
  print_err("{}\n", end == RunEnd::kFinished ? "done" : "stopped, with a checkpoint");
  return 0;
}

}  // namespace

Action add_node(CLI::App& parser) {
  auto arguments = std::make_shared<NodeArguments>();
  parser.add_option("file", arguments->file, "TOML file; flags win over what it says");
  for (const LiveKey& key : live_keys())
    parser.add_option("--" + std::string(key.name), arguments->flags[std::string(key.name)],
                      std::string(key.summary));
  parser.footer(
      "SIGTERM, Ctrl-C and a closed terminal: finishes the round, writes a checkpoint, takes "
      "leave, exits with 0.\n"
      "Started again, it goes on from there. Exit codes: 0 done or stopped, 1 failed, 2 asked "
      "wrongly,\n3 came to the end with rounds skipped or most of them alone.\n\n"
      "Example:\n"
      "  tessera node alice.toml --metrics=127.0.0.1:9464");
  return [arguments](const std::string& command_line) {
    return run_node(read_live_settings(arguments->file, arguments->flags), command_line);
  };
}

}  // namespace tessera
