// A live node from its settings to its exit code, for the commands that run one.
#pragma once

#include <string>

#include "run/live_settings.h"

namespace tessera {

// `watch` is the port of a page of all members; empty: none. What ends the node is a line of its
// log.
int run_node(const LiveSettings& settings, const std::string& watch, const std::string& command);

}  // namespace tessera
