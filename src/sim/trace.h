// How nodes change while a run goes on: the rates of their links, the speed at which they train,
// and whether they are there at all. A trace is a table (docs/networks.md) whose rows set what is
// different from a moment on:
//
//   time,node,up,down,speed,on
//   0s,3,10Mbit/s,10Mbit/s,,        # Node 3 has a slow link from the start.
//   60s,all,,,0.5,                  # After a minute everybody trains at half the speed.
//   90s,7,,,,no                     # Node 7 goes away,
//   120s,7,,,,yes                   # and comes back.
//
// While a node is off its links carry nothing and its training stands still; both go on where they
// stopped. Networks read up, down and on; compute models speed and on; one file can serve both.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/spec.h"
#include "base/time.h"

namespace tessera {

struct TraceChange {
  Instant at{};
  NodeId node = 0;
  std::optional<double> up{}, down{};  // Bytes per second.
  std::optional<double> speed{};       // 1: as fast as the spec says.
  std::optional<bool> on{};
};

using Trace = std::vector<TraceChange>;  // In the order of time; `all` is a change for each node.

Result<Trace> parse_trace(std::string_view text, std::uint32_t nodes);

// The trace an option trace=FILE names, empty without one; throws std::invalid_argument.
Trace read_trace(Options& options, std::uint32_t nodes);

}  // namespace tessera
