// `tessera watch`: a page of a fleet, for a browser on this machine.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/fleet_place.h"
#include "cli/interrupt.h"
#include "report/watch.h"
#include "run/live_fleet_feed.h"

namespace tessera {
namespace {

struct WatchArguments {
  FleetPlace fleet{};
  std::string port = "any";
};

int watch(const WatchArguments& arguments) {
  const std::string title =
      std::filesystem::absolute(arguments.fleet.place).lexically_normal().filename().string();
  listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kChangesNothing);
  const auto page = start_watch(arguments.port, watch_fleet(title, fleet_at(arguments.fleet)));
  while (!interrupted()) ::usleep(50'000);
  return 0;
}

}  // namespace

Action add_watch(CLI::App& parser) {
  auto arguments = std::make_shared<WatchArguments>();
  parser.add_option("place", arguments->fleet.place,
                    "A roster, whose members are asked over the network, or a launched run's "
                    "folder (default: here)");
  parser.add_option("--key", arguments->fleet.key,
                    "With a roster: the private key of a member or an observer");
  parser.add_option("--port", arguments->port, "The page's port (default: any that is free)");
  parser.footer(
      "The page is for this machine alone; at /metrics is the same for Prometheus. Ctrl-C ends "
      "it.\n\n"
      "Examples:\n"
      "  tessera watch roster.toml --key=desk.key\n"
      "  tessera watch runs/live --port=8080");
  return [arguments](const std::string&) { return watch(*arguments); };
}

}  // namespace tessera
