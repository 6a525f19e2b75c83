#include "report/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/spec.h"
#include "base/text.h"

namespace tessera {
namespace {

// How far between two rows the target lies; the first row has nothing before it.
double fraction_between(double before, double after, double target) {
  return after == before ? 1 : (target - before) / (after - before);
}

double value_at(const MetricsTable& metrics, std::string_view name, std::size_t row, double part) {
  const MetricsTable::Column* column = metrics.find(name);
  if (!column) return 0;
  if (row == 0) return column->values[0];
  return column->values[row - 1] + part * (column->values[row] - column->values[row - 1]);
}

std::string rounds_cell(const Reached& mean) {
  return fmt::format("{}{:.0f}", mean.early ? "<= " : "", mean.rounds);
}

}  // namespace

Target parse_target(std::string_view text) {
  const std::string wrong =
      fmt::format("--target={}: write an accuracy such as 60%, or a loss such as loss=1.5", text);
  try {
    if (text.starts_with("loss=")) return {"loss", parse_number(text.substr(5))};
    const bool percent = text.ends_with('%');
    const double value = parse_number(percent ? text.substr(0, text.size() - 1) : text);
    const double accuracy = percent ? value / 100 : value;
    if (accuracy > 0 && accuracy <= 1) return {"accuracy", accuracy};
  } catch (const std::invalid_argument&) {
  }
  throw std::invalid_argument(wrong);
}

std::optional<Reached> first_reached(const MetricsTable& metrics, const Target& target) {
  const MetricsTable::Column* column = metrics.find(target.figure);
  if (!column) return std::nullopt;
  const bool higher = target.figure == "accuracy";
  for (std::size_t row = 0; row < column->values.size(); ++row) {
    const double value = column->values[row];
    if (higher ? !(value >= target.value) : !(value <= target.value)) continue;
    const double part =
        row == 0 ? 1 : fraction_between(column->values[row - 1], value, target.value);
    return Reached{.rounds = value_at(metrics, "round", row, part),
                   .virtual_seconds = value_at(metrics, "virtual_seconds", row, part),
                   .bytes_per_node = value_at(metrics, "bytes_sent_per_node", row, part),
                   .early = row == 0};
  }
  return std::nullopt;
}

SeedsReached mean_reached(std::span<const MetricsTable> seeds, const Target& target) {
  SeedsReached all{.seeds = seeds.size()};
  for (const MetricsTable& seed : seeds) {
    const std::optional<Reached> reached = first_reached(seed, target);
    if (!reached) continue;
    ++all.reached;
    all.mean.rounds += reached->rounds;
    all.mean.virtual_seconds += reached->virtual_seconds;
    all.mean.bytes_per_node += reached->bytes_per_node;
    all.mean.early |= reached->early;
  }
  if (all.reached == 0) return all;
  const auto count = static_cast<double>(all.reached);
  all.mean.rounds /= count;
  all.mean.virtual_seconds /= count;
  all.mean.bytes_per_node /= count;
  return all;
}

std::string target_table(std::span<const StoredRun> runs, const Target& target) {
  const std::string what = target.figure == "accuracy"
                               ? fmt::format("to {:g}%", 100 * target.value)
                               : fmt::format("to a loss of {:g}", target.value);
  std::size_t width = what.size();
  for (const StoredRun& run : runs) width = std::max(width, run.name.size());
  std::string table = fmt::format("{:<{}}  {:>12}  {:>12}  {:>12}  {:>8}\n", what, width, "rounds",
                                  "virtual time", "sent/node", "seeds");
  for (const StoredRun& run : runs) {
    const SeedsReached all = mean_reached(read_metrics({&run, 1}), target);
    const std::string seeds = fmt::format("{} of {}", all.reached, all.seeds);
    table += all.reached > 0 ? fmt::format("{:<{}}  {:>12}  {:>10.1f} s  {:>12}  {:>8}\n", run.name,
                                           width, rounds_cell(all.mean), all.mean.virtual_seconds,
                                           show_bytes(all.mean.bytes_per_node), seeds)
                             : fmt::format("{:<{}}  {:>12}  {:>12}  {:>12}  {:>8}\n", run.name,
                                           width, "never", "never", "never", seeds);
  }
  return table;
}

}  // namespace tessera
