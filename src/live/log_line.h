// A line of a live node's log: when, how much it matters, and what happened. For people
//
//   2026-11-16T18:49:37.123Z warning bob is lost: cannot reach 10.0.0.2:5555: connection refused
//
// and for programs one JSON object a line, whose keys docs/deploy.md lists. Times are UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "live/log_level.h"
#include "live/status.h"

namespace tessera {

// How far a node is. A log has a line of it now and then.
struct ProgressFigures {
  Round round = 0;
  Round rounds = 0;                  // 0: it ends at a moment.
  std::optional<double> accuracy{};  // Of the last evaluation.
  std::uint64_t bytes_out = 0, bytes_in = 0;
  std::size_t peers_alive = 0, peers = 0;
  std::optional<double> seconds_left{};
  std::string waiting_for{};
};
ProgressFigures progress_of(const NodeStatus& status);
std::string to_text(const ProgressFigures& progress);

struct LogLine {
  std::chrono::milliseconds time{};  // Since 1970.
  LogLevel level = LogLevel::kInfo;
  std::string node{};
  std::string text{};
  std::optional<ProgressFigures> progress{};
};

enum class LogForm { kText, kJson };
LogForm parse_log_form(std::string_view name);  // Throws std::invalid_argument.

// With the line's end, and with no other.
std::string show(const LogLine& line, LogForm form);

std::chrono::milliseconds time_of_day();  // Since 1970, by the machine's clock.

}  // namespace tessera
