// Where a fleet is asked: what `status` and `watch` are given.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/live_fleet_question.h"

namespace tessera {

struct FleetPlace {
  std::string place = ".";  // A roster, a launched run's folder, or one node's.
  std::string key{};        // The file of the asker's private key; for a roster.
};

// Throws std::invalid_argument where a key is missing, std::runtime_error where no node runs.
AskFleet fleet_at(const FleetPlace& fleet);

// A node's socket, that of the folder it works in, or those of a launched cluster's running nodes.
std::vector<std::filesystem::path> sockets_at(const std::filesystem::path& place);

}  // namespace tessera
