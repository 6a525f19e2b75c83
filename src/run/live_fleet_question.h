// Where a fleet's answers come from: its members over the network, or the nodes of a cluster on
// this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "run/live_fleet.h"

namespace tessera {

// All are asked at once, and waited for together.
using AskFleet = std::function<std::vector<FleetAnswer>(Duration patience)>;

// The roster is read now, and read again where it has changed by the next question. `key` is the
// file of a member's or an observer's private key. Throws std::invalid_argument.
AskFleet ask_roster(const std::filesystem::path& roster, const std::filesystem::path& key);

// By the sockets of the nodes on this machine; each is named after the folder its socket lies in.
AskFleet ask_sockets(std::vector<std::filesystem::path> sockets);

}  // namespace tessera
