// A fleet as a table for people, as JSON for programs and the live page, and for Prometheus.
#pragma once

#include <span>
#include <string>

#include "run/live_fleet.h"

namespace tessera {

std::string to_text(std::span<const FleetNode> nodes);        // A row a node, alarms below.
std::string to_json(std::span<const FleetNode> nodes);        // An array, on one line.
std::string to_prometheus(std::span<const FleetNode> nodes);  // With tessera_up for every member.

}  // namespace tessera
