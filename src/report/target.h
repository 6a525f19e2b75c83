// How long and how many bytes a run needed to reach a target: the papers' figure of merit. Between
// two rows the way is taken to be straight; a target that was not reached is never.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/metrics_table.h"
#include "report/stored_run.h"

namespace tessera {

struct Target {
  std::string figure{};  // "accuracy" or "loss".
  double value = 0;
};

// "60%" and "0.6" are accuracies, "loss=1.5" a loss. Throws std::invalid_argument.
Target parse_target(std::string_view text);

struct Reached {
  double rounds = 0, virtual_seconds = 0, bytes_per_node = 0;
  bool early = false;  // At the first row, so perhaps before it.
};
// At the first row from which on the target counts as reached; nothing when it never was.
std::optional<Reached> first_reached(const MetricsTable& metrics, const Target& target);

// What several seeds needed: the mean over those that reached it, as the page has it too.
struct SeedsReached {
  Reached mean{};
  std::size_t reached = 0, seeds = 0;
};
SeedsReached mean_reached(std::span<const MetricsTable> seeds, const Target& target);

// A line per run. Where there are several seeds it says how many of them reached the target.
std::string target_table(std::span<const StoredRun> runs, const Target& target);

}  // namespace tessera
