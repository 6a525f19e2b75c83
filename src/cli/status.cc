// `tessera status`: what a running node says of itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/output.h"
#include "cli/command.h"
#include "live/status_question.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct StatusArguments {
  std::string place = ".";
  bool json = false;
};

// A node's socket, that of the folder it works in, or those of all nodes of a launched cluster.
std::vector<fs::path> sockets_at(const fs::path& place) {
  std::error_code ignored;
  if (fs::is_socket(place, ignored)) return {place};
  if (fs::is_socket(place / "status.sock", ignored)) return {place / "status.sock"};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(place / "nodes", ignored))
    if (fs::is_socket(entry.path() / "status.sock", ignored))
      found.push_back(entry.path() / "status.sock");
  std::sort(found.begin(), found.end());
  if (found.empty())
    throw std::runtime_error(fmt::format(
        "no node is running in {}: name its folder, or its status.sock", place.string()));
  return found;
}

int run_status(const StatusArguments& arguments) {
  int failed = 0;
  const std::vector<fs::path> sockets = sockets_at(arguments.place);
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const Result<std::string> answer = ask_status(sockets[i], arguments.json ? "json" : "text");
    if (i > 0 && !arguments.json) print_out("\n");
    if (answer.ok())
      print_out("{}", *answer);
    else
      print_err("tessera: {}\n", answer.error().message), ++failed;
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace

Action add_status(CLI::App& parser) {
  auto arguments = std::make_shared<StatusArguments>();
  parser.add_option("place", arguments->place,
                    "A node's folder or socket, or a launched run's folder (default: here)");
  parser.add_flag("--json", arguments->json, "For programs: one object per node");
  parser.footer(
      "Exit codes: 0 all asked have answered, 1 some have not, 2 asked wrongly.\n\n"
      "Examples:\n"
      "  tessera status runs/live\n"
      "  tessera status --json /var/lib/tessera/alice");
  return [arguments](const std::string&) { return run_status(*arguments); };
}

}  // namespace tessera
