// `tessera node`: one live peer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "cli/command.h"
#include "cli/live_node.h"

namespace tessera {
namespace {

struct Arguments {
  std::string file{};
  std::map<std::string, std::string> flags{};
};

}  // namespace

Action add_node(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  parser.add_option("file", arguments->file, "TOML file; flags win over what it says");
  for (const LiveKey& key : live_keys())
    parser.add_option("--" + std::string(key.name), arguments->flags[std::string(key.name)],
                      std::string(key.summary));
  parser.footer(
      "SIGTERM and Ctrl-C: finishes the round, writes a checkpoint, takes leave, exits with 0.\n"
      "Started again, it goes on from there. Exit codes: 0 done or stopped, 1 failed, 2 asked "
      "wrongly.\n\n"
      "Example:\n"
      "  tessera node alice.toml --metrics=127.0.0.1:9464");
  return [arguments](const std::string& command_line) {
    const LiveSettings settings = read_live_settings(arguments->file, arguments->flags);
    const RunEnd end = run_live_node(settings, command_line);
    fmt::print(stderr, "{}\n", end == RunEnd::kFinished ? "done" : "stopped, with a checkpoint");
    return 0;
  };
}

}  // namespace tessera
