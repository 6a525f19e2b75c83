#include "cli/live_collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/hash.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string read_or_throw(const fs::path& path) {
  Result<std::string> text = read_text_file(path);
  if (!text.ok()) throw std::runtime_error(text.error().message);
  return std::move(text).value();
}

// JSON's own words say where in the text the fault is, and not in which file.
template <typename Read>
auto naming(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw std::runtime_error(
        fmt::format("{}: not what a node writes; copy it again: {}", path.string(), error.what()));
  }
}

struct NodeRow {
  Round round = 0;
  double seconds = 0, accuracy = 0, loss = 0, train_loss = 0, bytes = 0, value_bytes = 0;
  std::uint64_t messages = 0;
};

NodeRow row_of(const Json& json) {
  return {.round = json.at("round").get<Round>(),
          .seconds = json.at("virtual_seconds").get<double>(),
          .accuracy = json.at("accuracy").get<double>(),
          .loss = json.at("loss").get<double>(),
          .train_loss = json.at("train_loss").get<double>(),
          .bytes = json.at("bytes_sent_per_node").get<double>(),
          .value_bytes = json.at("value_bytes_per_node").get<double>(),
          .messages = json.at("messages").get<std::uint64_t>()};
}

std::vector<NodeRow> rows_of(const fs::path& folder) {
  std::vector<NodeRow> rows;
  const fs::path path = folder / "metrics.jsonl";
  std::istringstream lines(read_or_throw(path));
  for (std::string line; std::getline(lines, line);)
    rows.push_back(naming(path, [&] { return row_of(Json::parse(line)); }));
  if (rows.empty()) throw std::runtime_error(folder.string() + " has no rows");
  return rows;
}

// Of all nodes, in the order of their ids.
MetricsRow merge(std::span<const NodeRow> nodes) {
  const auto values = [&](double NodeRow::*value) {
    std::vector<double> all;
    for (const NodeRow& node : nodes) all.push_back(node.*value);
    return all;
  };
  MetricsRow row{.round = nodes.front().round,
                 .accuracy = spread_of(values(&NodeRow::accuracy)),
                 .loss = spread_of(values(&NodeRow::loss)),
                 .train_loss = spread_of(values(&NodeRow::train_loss)).mean};
  double bytes = 0, value_bytes = 0;
  for (const NodeRow& node : nodes) {
    row.round = std::min(row.round, node.round);
    row.virtual_seconds = std::max(row.virtual_seconds, node.seconds);
    row.messages += node.messages;
    bytes += node.bytes;
    value_bytes += node.value_bytes;
  }
  row.bytes_per_node = bytes / static_cast<double>(nodes.size());
  row.value_bytes_per_node = value_bytes / static_cast<double>(nodes.size());
  return row;
}

// What a node said of itself at its end.
void add_own_summary(const fs::path& path, Summary& summary) {
  const std::string text = read_or_throw(path);
  naming(path, [&] {
    const Json own = Json::parse(text);
    summary.parameters = own.at("parameters").get<std::size_t>();
    for (const auto& [reason, count] : own.at("refusals").items())
      summary.refusals[reason] += count.get<std::uint64_t>();
    summary.peak_rss_bytes =
        std::max(summary.peak_rss_bytes, own.at("peak_rss_bytes").get<std::uint64_t>());
  });
}

std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Without zeros in front, the number of more digits is the greater one.
bool comes_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view m = take_digits(a), n = take_digits(b);
      if (m != n) return m.size() != n.size() ? m.size() < n.size() : m < n;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

}  // namespace

std::vector<fs::path> node_folders(const fs::path& nodes) {
  std::vector<fs::path> folders;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(nodes, missing))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
    return comes_before(a.filename().string(), b.filename().string());
  });
  return folders;
}

Collected collect(std::span<const fs::path> folders, bool by_time) {
  Collected collected;
  // By round, or by moment in milliseconds; the last row of each is the end, whenever that was.
  std::map<std::int64_t, std::vector<NodeRow>> at;
  std::vector<NodeRow> last;
  Summary& summary = collected.summary;
  for (const fs::path& folder : folders) {
    const std::vector<NodeRow> rows = rows_of(folder);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      at[by_time ? std::llround(rows[i].seconds * 1e3) : rows[i].round].push_back(rows[i]);
    last.push_back(rows.back());
    summary.node_accuracy.push_back(rows.back().accuracy);
    summary.node_loss.push_back(rows.back().loss);
    add_own_summary(folder / "summary.json", summary);
    // As Simulation::model_digest has it.
    const Result<Bytes> model = read_file(folder / "model.bin");
    if (!model.ok()) throw std::runtime_error(model.error().message);
    summary.model_digest = hash_bytes(*model, summary.model_digest);
  }
  for (const auto& [when, rows] : at)
    if (rows.size() == folders.size()) collected.rows.push_back(merge(rows));
  collected.rows.push_back(merge(last));
  summary.last = collected.rows.back();
  summary.nodes = static_cast<std::uint32_t>(folders.size());
  return collected;
}

}  // namespace tessera
