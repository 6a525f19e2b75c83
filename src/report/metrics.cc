#include "report/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/json_depth.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// One list of figures, so that a row, a summary and the spread over seeds speak of the same ones.
Json figures_of(const MetricsRow& row) {
  Json json = {{"accuracy", row.accuracy.mean},
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
               {"virtual_seconds", row.seconds}};
  if (row.merged)
    json.update({{"merged_accuracy", row.merged->score.accuracy},
                 {"merged_loss", row.merged->score.loss},
                 {"consensus_distance", row.merged->distance},
                 {"consensus_relative", row.merged->relative_distance}});
  if (row.hostile > 0) json["hostile_nodes"] = row.hostile;
  for (const Score& score : row.nodes) {
    json["node_accuracy"].push_back(score.accuracy);
    json["node_loss"].push_back(score.loss);
  }
  if (!row.network) return json;
  const NetworkFigures& network = *row.network;
  json.update({{"rounds_min", network.rounds_min},
               {"rounds_max", network.rounds_max},
               {"delivered_fraction", network.delivered_fraction},
               {"staleness", network.staleness},
               {"staleness_max", network.staleness_max},
               {"delay_seconds", network.delay_seconds},
               {"queue", network.queue},
               {"queue_max", network.queue_max},
               {"link_use", network.link_use},
               {"link_use_max", network.link_use_max}});
  return json;
}

// A list with one figure of every node.
template <typename Figure>
Json by_node(const Summary& summary, Figure NodeFigures::*figure) {
  Json list = Json::array();
  for (const NodeFigures& node : summary.node_figures) list.push_back(node.*figure);
  return list;
}

Json json_of(const Summary& summary) {
  Json json = figures_of(summary.last);
  json["rounds"] = summary.last.round;
  json["seed"] = summary.seed;
  json["nodes"] = summary.nodes;
  json["parameters"] = summary.parameters;
  json["node_accuracy"] = summary.node_accuracy;
  json["node_loss"] = summary.node_loss;
  if (!summary.node_figures.empty()) {
    json["node_rounds"] = by_node(summary, &NodeFigures::rounds);
    json["node_bytes"] = by_node(summary, &NodeFigures::bytes);
    json["node_staleness"] = by_node(summary, &NodeFigures::staleness);
    json["node_queue"] = by_node(summary, &NodeFigures::queue);
    json["node_link_use"] = by_node(summary, &NodeFigures::link_use);
  }
  for (const Edge& edge : summary.edges) json["edges"].push_back({edge.a, edge.b});
  if (!summary.stragglers.empty()) json["stragglers"] = summary.stragglers;
  if (!summary.hostile.empty()) json["hostile"] = summary.hostile;
  if (!summary.class_counts.empty()) json["class_counts"] = summary.class_counts;
  if (!summary.class_names.empty()) json["class_names"] = summary.class_names;
  json["refusals"] = summary.refusals;
  json["wall_seconds"] = summary.took.all;
  json["loop_seconds"] = summary.took.loop;
  json["training_seconds"] = summary.took.training;
  json["evaluating_seconds"] = summary.took.evaluating;
  if (summary.took.gpus > 0) {
    json["gpus"] = summary.took.gpus;
    json["gpu_busy_seconds"] = summary.took.gpu_busy;
  }
  json["peak_rss_bytes"] = summary.peak_rss_bytes;
  json["model_digest"] = fmt::format("{:016x}", summary.model_digest);
  json["command"] = summary.command;
  if (const Made& made = summary.made; !made.version.empty())
    json["made"] = {{"version", made.version},
                    {"commit", made.commit},
                    {"date", made.date},
                    {"host", made.host}};
  if (!summary.shortfall.empty()) json["shortfall"] = summary.shortfall;
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

namespace {

// Where no node was tested.
constexpr Spread kNothing{kNotTested.loss, kNotTested.loss, kNotTested.loss};

// A figure that there may not be: of a round without training, of a node that was not tested.
double number_or_nan(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN()
                                : json.at(key).get<double>();
}

}  // namespace

MetricsRow row_of(std::span<const NodeRow> nodes) {
  CHECK(!nodes.empty());
  std::vector<double> accuracy, loss, train_loss;
  MetricsRow row{.round = nodes.front().round};
  Traffic sent;
  for (const NodeRow& node : nodes) {
    row.round = std::min(row.round, node.round);
    row.seconds = std::max(row.seconds, node.seconds);
    if (node.score.tested()) {
      accuracy.push_back(node.score.accuracy);
      loss.push_back(node.score.loss);
    }
    train_loss.push_back(node.train_loss);
    sent.messages += node.sent.messages;
    sent.bytes += node.sent.bytes;
    sent.value_bytes += node.sent.value_bytes;
  }
  const auto count = static_cast<double>(nodes.size());
  row.accuracy = accuracy.empty() ? kNothing : spread_of(accuracy);
  row.loss = loss.empty() ? kNothing : spread_of(loss);
  row.train_loss = spread_of(train_loss).mean;
  row.bytes_per_node = static_cast<double>(sent.bytes) / count;
  row.value_bytes_per_node = static_cast<double>(sent.value_bytes) / count;
  row.messages = sent.messages;
  return row;
}

Result<NodeRow> parse_node_row(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    return NodeRow{
        .round = json.at("round").get<Round>(),
        .seconds = json.at("virtual_seconds").get<double>(),
        .score = {.accuracy = number_or_nan(json, "accuracy"), .loss = number_or_nan(json, "loss")},
        .train_loss = number_or_nan(json, "train_loss"),
        .sent = {.messages = json.at("messages").get<std::uint64_t>(),
                 .bytes = json.at("bytes_sent_per_node").get<std::uint64_t>(),
                 .value_bytes = json.at("value_bytes_per_node").get<std::uint64_t>()}};
  } catch (const Json::exception& error) {
    return Error{"json", error.what()};
  }
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
  for (const std::string& text : seeds) {
    if (is_too_deep(text)) throw std::runtime_error("a seed's summary.json is not a run's summary");
    runs.push_back(Json::parse(text));
  }
  Json json;
  for (const Json& run : runs) json["seeds"].push_back(run["seed"]);
  std::vector<std::string> names = {"wall_seconds", "loop_seconds", "training_seconds",
                                    "evaluating_seconds", "rounds"};
  // With or without hostile nodes, a network's figures, a merged model and a GPU, as the seeds have
  // them.
  Json figures = figures_of({.hostile = 1, .network = NetworkFigures{}, .merged = MergedFigures{}});
  figures["gpu_busy_seconds"] = 0;
  for (const auto& [name, unused] : figures.items())
    if (std::all_of(runs.begin(), runs.end(),
                    [&name = name](const Json& run) { return run.contains(name); }))
      names.push_back(name);
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
