#include "cli/fleet_place.h"

#include <fmt/format.h>

#include <stdexcept>

#include "run/live_collect.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A launched cluster's nodes are asked whether they run or not: one that was killed is lost.
std::vector<fs::path> sockets_of_all(const fs::path& place) {
  std::vector<fs::path> sockets = sockets_at(place);
  const std::vector<fs::path> folders = node_folders(place / "nodes");
  if (folders.empty()) return sockets;
  sockets.clear();
  for (const fs::path& folder : folders) sockets.push_back(folder / "status.sock");
  return sockets;
}

}  // namespace

std::vector<fs::path> sockets_at(const fs::path& place) {
  std::error_code ignored;
  if (fs::is_socket(place, ignored)) return {place};
  if (fs::is_socket(place / "status.sock", ignored)) return {place / "status.sock"};
  std::vector<fs::path> found;
  for (const fs::path& folder : node_folders(place / "nodes"))
    if (fs::is_socket(folder / "status.sock", ignored)) found.push_back(folder / "status.sock");
  if (found.empty())
    throw std::runtime_error(fmt::format(
        "no node is running in {}: name its folder, its status.sock, or a roster", place.string()));
  return found;
}

AskFleet fleet_at(const FleetPlace& fleet) {
  if (!fs::is_regular_file(fleet.place)) return ask_sockets(sockets_of_all(fleet.place));
  if (fleet.key.empty())
    throw std::invalid_argument(
        fmt::format("--key is needed to ask the members of {}: a member's private key, or an "
                    "observer's (tessera roster observe)",
                    fleet.place));
  return ask_roster(fleet.place, fleet.key);
}

}  // namespace tessera
