#include "run/live_collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/hash.h"
#include "report/model_sum.h"
#include "report/run_log.h"
#include "run/lesson.h"
#include "topology/describe.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw std::runtime_error(
      fmt::format("{}: not what a node writes; copy it again: {}", path.string(), why));
}

std::vector<NodeRow> rows_of(const fs::path& folder) {
  std::vector<NodeRow> rows;
  const fs::path path = folder / "metrics.jsonl";
  std::istringstream lines(or_throw(read_text_file(path)));
  for (std::string line; std::getline(lines, line);) {
    const Result<NodeRow> row = parse_node_row(line);
    if (!row) refuse(path, row.error().message);
    rows.push_back(*row);
  }
  if (rows.empty()) throw std::runtime_error(folder.string() + " has no rows");
  return rows;
}

bool has_rows(const fs::path& folder) {
  std::error_code missing;
  const auto bytes = fs::file_size(folder / "metrics.jsonl", missing);
  return !missing && bytes > 0;
}

void note_shortfall(const fs::path& folder, std::string_view why, Summary& summary) {
  summary.shortfall += fmt::format("{}{}: {}", summary.shortfall.empty() ? "" : "; ",
                                   folder.filename().string(), why);
}

// What a node said of itself at its end.
void add_own_summary(const fs::path& folder, Summary& summary) {
  const fs::path path = folder / "summary.json";
  const std::string text = or_throw(read_text_file(path));
  try {
    const Json own = Json::parse(text);
    summary.parameters = own.at("parameters").get<std::size_t>();
    for (const auto& [reason, count] : own.at("refusals").items())
      summary.refusals[reason] += count.get<std::uint64_t>();
    if (own.contains("shortfall"))
      note_shortfall(folder, own.at("shortfall").get<std::string>(), summary);
    summary.peak_rss_bytes =
        std::max(summary.peak_rss_bytes, own.at("peak_rss_bytes").get<std::uint64_t>());
  } catch (const Json::exception& error) {
    refuse(path, error.what());
  }
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

struct Collected {
  std::vector<MetricsRow> rows{};
  Summary summary{};
  std::map<NodeId, Vector> models{};  // Of the honest nodes, as they were at the end.
};

Vector floats_of(ByteSpan model) {
  Vector values(model.size() / sizeof(float));
  std::memcpy(values.data(), model.data(), values.size() * sizeof(float));
  return values;
}

// The final model, which counts in the digest as Simulation::model_digest has it. Empty of a node
// that has not come to its end.
Vector read_model(const fs::path& folder, Summary& summary) {
  const fs::path path = folder / "model.bin";
  if (!fs::exists(path)) return {};
  const Bytes model = or_throw(read_file(path));
  summary.model_digest = hash_bytes(model, summary.model_digest);
  return floats_of(model);
}

// How a node ended, if it did.
void read_end(const fs::path& folder, NodeId id, Round last_round, Collected& collected) {
  if (fs::exists(folder / "summary.json"))
    add_own_summary(folder, collected.summary);
  else
    note_shortfall(folder,
                   fmt::format("it has not ended, and was last tested after round {}", last_round),
                   collected.summary);
  if (Vector model = read_model(folder, collected.summary); !model.empty())
    collected.models[id] = std::move(model);
}

// Of hostile nodes nothing is measured, and of those that left no row nothing can be.
std::vector<NodeId> unmeasured(std::span<const fs::path> folders, const Plan& plan,
                               Summary& summary) {
  const std::span<const NodeId> hostile = plan.faults.hostile();
  std::vector<NodeId> all(hostile.begin(), hostile.end());
  for (NodeId id = 0; id < folders.size(); ++id) {
    if (std::ranges::binary_search(hostile, id) || has_rows(folders[id])) continue;
    all.push_back(id);
    note_shortfall(folders[id], "it left no row", summary);
  }
  if (all.size() == folders.size())
    throw std::runtime_error(
        fmt::format("none of the {} nodes left a row in its metrics.jsonl", folders.size()));
  std::ranges::sort(all);
  return all;
}

Collected read_all(std::span<const fs::path> folders, const Plan& plan) {
  Collected collected;
  Measured measured(static_cast<std::uint32_t>(folders.size()),
                    unmeasured(folders, plan, collected.summary));
  measured.each_node = plan.evaluate.nodes;
  const auto row_of_all = [&](std::span<const NodeRow> by_node) {
    MetricsRow row = measured.row(by_node);
    row.hostile = static_cast<std::uint32_t>(plan.faults.hostile().size());
    return row;
  };
  // By round, or by moment in milliseconds; the last row of each is the end, whenever that was.
  std::map<std::int64_t, std::vector<NodeRow>> at;
  std::vector<NodeRow> last = measured.no_rows();
  Summary& summary = collected.summary;
  for (NodeId id = 0; id < folders.size(); ++id) {
    if (!measured.counts(id)) {
      (void)read_model(folders[id], summary);
      continue;
    }
    const std::vector<NodeRow> rows = rows_of(folders[id]);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      at[plan.evaluate.by_time() ? std::llround(rows[i].seconds * 1e3) : rows[i].round].push_back(
          rows[i]);
    last[id] = rows.back();
    read_end(folders[id], id, rows.back().round, collected);
  }
  for (const NodeRow& row : last) {
    summary.node_accuracy.push_back(row.score.accuracy);
    summary.node_loss.push_back(row.score.loss);
  }
  const MetricsRow end = row_of_all(last);
  for (const auto& [when, rows] : at) {
    if (rows.size() != measured.nodes.size()) continue;
    std::vector<NodeRow> by_node = measured.no_rows();
    for (std::size_t i = 0; i < rows.size(); ++i) by_node[measured.nodes[i]] = rows[i];
    collected.rows.push_back(row_of_all(by_node));
  }
  collected.rows.push_back(end);
  return collected;
}

// Of the final models only: no live node knows the others' in between. Where this machine lacks the
// data, or the models are of another experiment, there is nothing to say.
std::optional<MergedFigures> merged_at_end(const Plan& plan,
                                           const std::map<NodeId, Vector>& models) {
  const std::size_t honest = plan.nodes - plan.faults.hostile().size();
  if (!plan.evaluate.merged || models.size() != honest) return std::nullopt;
  try {
    const Learning lesson = make_lesson(plan, 0);
    ModelSum sum;
    std::vector<NodeId> nodes;
    for (const auto& [id, model] : models) {
      if (model.size() != lesson.trainer->dimension()) return std::nullopt;
      sum.add(model);
      nodes.push_back(id);
    }
    return merged_figures(sum, nodes, *lesson.evaluator);
  } catch (const std::exception&) {
    return std::nullopt;
  }
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

Summary collect(const Plan& plan, std::span<const fs::path> folders,
                const CollectOptions& options) {
  auto [rows, summary, models] = read_all(folders, plan);
  rows.back().merged = merged_at_end(plan, models);
  summary.seed = plan.seed;
  summary.nodes = static_cast<std::uint32_t>(folders.size());
  summary.last = rows.back();
  summary.hostile.assign(plan.faults.hostile().begin(), plan.faults.hostile().end());
  summary.edges = edges_to_draw(*plan.topology->graph(0));
  summary.took.all = options.seconds;
  summary.took.loop = summary.last.seconds;
  summary.command = options.command;
  summary.made = options.made;
  std::string lines;
  for (const MetricsRow& row : rows) lines += to_json_line(row) + "\n";
  or_throw(write_file(options.out / "config.toml", bytes_of(to_toml(plan.experiment))));
  or_throw(write_file(options.out / "metrics.jsonl", bytes_of(lines)));
  or_throw(write_file(options.out / "summary.json", bytes_of(to_json(summary))));
  return summary;
}

}  // namespace tessera
