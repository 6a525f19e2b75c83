// What a run measures: a row per evaluated round, and a summary at the end. Means are over nodes,
// taken in the order of their ids; the spread is the smallest and the largest.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "node/trainer.h"
#include "sim/simulation.h"

namespace tessera {

struct Spread {
  double mean = 0, min = 0, max = 0;
};
Spread spread_of(std::span<const double> values);

struct MetricsRow {
  Round round = 0;
  double virtual_seconds = 0;  // When the last node completed the round.
  Spread accuracy{}, loss{};
  double train_loss = 0;
  // Sent by then, per node; every node's count is taken as it completes the round.
  double bytes_per_node = 0, value_bytes_per_node = 0;
  std::uint64_t messages = 0;
};

struct Summary {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 0;
  std::size_t parameters = 0;
  MetricsRow last{};
  std::vector<double> node_accuracy{}, node_loss{};
  std::map<std::string, std::uint64_t> refusals{};
  double wall_seconds = 0;  // All of it, and of that:
  double loop_seconds = 0;  // The rounds, without loading data;
  double training_seconds = 0, evaluating_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t model_digest = 0;
  std::string command{};
};

std::string to_json_line(const MetricsRow& row);  // Without the line's end.
std::string to_json(const Summary& summary);      // summary.json
// Several seeds of one experiment, from their summary.json: mean and standard deviation of each
// figure, and each seed's own.
std::string combine_summaries(std::span<const std::string> seeds);

std::uint64_t peak_rss_bytes();  // Of this process.

}  // namespace tessera
