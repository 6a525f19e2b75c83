#include "report/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// One list of figures, so that a row, a summary and the spread over seeds speak of the same ones.
Json figures_of(const MetricsRow& row) {
  return {{"accuracy", row.accuracy.mean},
          {"accuracy_min", row.accuracy.min},
          {"accuracy_max", row.accuracy.max},
          {"loss", row.loss.mean},
          {"loss_min", row.loss.min},
          {"loss_max", row.loss.max},
          {"train_loss", row.train_loss},
          {"bytes_sent_per_node", row.bytes_per_node},
          {"value_bytes_per_node", row.value_bytes_per_node},
          {"metadata_bytes_per_node", row.bytes_per_node - row.value_bytes_per_node},
          {"messages", row.messages},
          {"virtual_seconds", row.virtual_seconds}};
}

Json json_of(const Summary& summary) {
  Json json = figures_of(summary.last);
  json["rounds"] = summary.last.round;
  json["seed"] = summary.seed;
  json["nodes"] = summary.nodes;
  json["parameters"] = summary.parameters;
  json["node_accuracy"] = summary.node_accuracy;
  json["node_loss"] = summary.node_loss;
  json["refusals"] = summary.refusals;
  json["wall_seconds"] = summary.wall_seconds;
  json["loop_seconds"] = summary.loop_seconds;
  json["training_seconds"] = summary.training_seconds;
  json["evaluating_seconds"] = summary.evaluating_seconds;
  json["peak_rss_bytes"] = summary.peak_rss_bytes;
  json["model_digest"] = fmt::format("{:016x}", summary.model_digest);
  json["command"] = summary.command;
  return json;
}

}  // namespace

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {};
  Spread spread{.mean = 0, .min = values[0], .max = values[0]};
  for (const double v : values) {
    spread.mean += v / static_cast<double>(values.size());
    spread.min = std::min(spread.min, v);
    spread.max = std::max(spread.max, v);
  }
  return spread;
}

std::string to_json_line(const MetricsRow& row) {
  Json json = {{"round", row.round}};
  json.update(figures_of(row));
  return json.dump();
}

std::string to_json(const Summary& summary) {
  return json_of(summary).dump(2) + "\n";
}

std::string combine_summaries(std::span<const std::string> seeds) {
  std::vector<Json> runs;
  for (const std::string& text : seeds) runs.push_back(Json::parse(text));
  Json json;
  for (const Json& run : runs) json["seeds"].push_back(run["seed"]);
  std::vector<std::string> names = {"wall_seconds", "loop_seconds", "training_seconds",
                                    "evaluating_seconds", "rounds"};
  const Json figures = figures_of({});
  for (const auto& [name, unused] : figures.items()) names.push_back(name);
  for (const std::string& name : names) {
    std::vector<double> values;
    for (const Json& run : runs) values.push_back(run[name].get<double>());
    const Spread spread = spread_of(values);
    double squares = 0;
    for (const double v : values) squares += (v - spread.mean) * (v - spread.mean);
    json[name] = spread.mean;
    if (values.size() > 1)
      json[name + "_deviation"] = std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  json["command"] = runs.front()["command"];
  json["runs"] = runs;
  return json.dump(2) + "\n";
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tessera
