// `tessera status`: what running nodes say of themselves.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/output.h"
#include "base/spec.h"
#include "cli/command.h"
#include "cli/fleet_place.h"
#include "live/status_question.h"
#include "run/live_fleet_text.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct StatusArguments {
  FleetPlace fleet{};
  std::string patience = "2s";
  bool all = false, json = false, prometheus = false;
};

int show_fleet(const StatusArguments& arguments) {
  const AskFleet ask = fleet_at(arguments.fleet);
  const std::vector<FleetNode> nodes = judge(ask(parse_duration(arguments.patience)));
  print_out("{}", arguments.json         ? to_json(nodes)
                  : arguments.prometheus ? to_prometheus(nodes)
                                         : to_text(nodes));
  return std::ranges::none_of(nodes, &FleetNode::lost) ? 0 : 1;
}

int show_each(const StatusArguments& arguments) {
  int failed = 0;
  const std::vector<fs::path> sockets = sockets_at(arguments.fleet.place);
  const std::string_view format = arguments.json         ? "json"
                                  : arguments.prometheus ? "prometheus"
                                                         : "text";
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const Result<std::string> answer = ask_status(sockets[i], format);
    if (i > 0 && format == "text") print_out("\n");
    if (answer.ok())
      print_out("{}", *answer);
    else
      print_err("tessera: {}\n", answer.error().message), ++failed;
  }
  return failed > 0 ? 1 : 0;
}

int run_status(const StatusArguments& arguments) {
  if (arguments.json && arguments.prometheus)
    throw std::invalid_argument("status: --json and --prometheus are two forms: give one");
  const bool fleet = arguments.all || fs::is_regular_file(arguments.fleet.place);
  return fleet ? show_fleet(arguments) : show_each(arguments);
}

}  // namespace

Action add_status(CLI::App& parser) {
  auto arguments = std::make_shared<StatusArguments>();
  parser.add_option("place", arguments->fleet.place,
                    "A node's folder or socket, a launched run's folder, or a roster, whose "
                    "members are asked over the network (default: here)");
  parser.add_flag("--all", arguments->all, "One table of all nodes of a launched run");
  parser.add_option("--key", arguments->fleet.key,
                    "With a roster: the private key of a member or an observer");
  parser.add_option("--patience", arguments->patience,
                    "With a roster or --all: how long to wait for all together (default: 2s)");
  parser.add_flag("--json", arguments->json,
                  "For programs: one object per node; with a roster or --all, an array");
  parser.add_flag("--prometheus", arguments->prometheus, "For Prometheus, as text");
  parser.footer(
      "Exit codes: 0 all asked have answered, 1 some have not, 2 asked wrongly.\n\n"
      "Examples:\n"
      "  tessera status runs/live --all\n"
      "  tessera status roster.toml --key=desk.key\n"
      "  tessera status --json /var/lib/tessera/alice");
  return [arguments](const std::string&) { return run_status(*arguments); };
}

}  // namespace tessera
