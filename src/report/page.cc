#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "report/page_assets.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataGap = "{{data}}";
constexpr std::string_view kLiveGap = "{{live}}";

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Five digits are finer than a screen; whole numbers, such as rounds, are kept as they are.
void append_number(std::string& out, double value) {
  if (!std::isfinite(value))
    out += "null";
  else if (value == std::floor(value) && std::abs(value) < 1e7)
    fmt::format_to(std::back_inserter(out), "{:.0f}", value);
  else
    fmt::format_to(std::back_inserter(out), "{:.5g}", value);
}

// A value of a summary, with its numbers shortened in the same way.
void append_json(std::string& out, const Json& value) {
  if (value.is_number()) return append_number(out, value.get<double>());
  if (!value.is_structured()) {
    out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  out += value.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& [key, part] : value.items()) {
    if (!first) out += ",";
    first = false;
    if (value.is_object()) out += quoted(key) + ":";
    append_json(out, part);
  }
  out += value.is_array() ? "]" : "}";
}

void append_columns(std::string& out, const MetricsTable& table, std::size_t rows_max) {
  const std::vector<std::size_t> rows = rows_to_draw(table, rows_max);
  out += fmt::format("\"rows_measured\":{},\"columns\":{{", table.rows);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += fmt::format("{}{}:[", c > 0 ? "," : "", quoted(table.columns[c].name));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) out += ",";
      append_number(out, table.columns[c].values[rows[i]]);
    }
    out += "]";
  }
  out += "}";
}

// What a summary says of single nodes. The graph and the classes of two runs are often the same:
// then the second refers to the first by its place among the runs.
class NodeFacts {
 public:
  void append(std::string& out, const Json& summary, std::size_t run) {
    constexpr std::array kFacts = {"node_accuracy",  "node_loss",   "node_bytes",    "node_rounds",
                                   "node_staleness", "node_queue",  "node_link_use", "edges",
                                   "class_counts",   "class_names", "stragglers",    "hostile"};
    out += ",\"facts\":{";
    bool first = true;
    for (const char* fact : kFacts) {
      const auto found = summary.find(fact);
      if (found == summary.end() || !found->is_array()) continue;
      std::string text;
      append_json(text, *found);
      const auto [said, is_new] = said_.try_emplace(fact + text, run);
      out += fmt::format("{}\"{}\":{}", first ? "" : ",", fact,
                         is_new ? text : std::to_string(said->second));
      first = false;
    }
    out += "}";
  }

 private:
  std::map<std::string, std::size_t> said_{};
};

void append_seed(std::string& out, const StoredSeed& seed, const MetricsTable& table,
                 std::size_t rows_max) {
  out += fmt::format("{{\"seed\":{},\"finished\":{},", quoted(seed.seed), seed.finished());
  if (!seed.diverged.empty()) out += "\"diverged\":true,";
  const Json summary = Json::parse(seed.summary, nullptr, false);
  if (const auto digest = summary.find("model_digest");
      summary.is_object() && digest != summary.end() && digest->is_string())
    out += fmt::format("\"digest\":{},", quoted(digest->get<std::string>()));
  if (const auto refusals = summary.find("refusals");
      summary.is_object() && refusals != summary.end() && refusals->is_object()) {
    out += "\"refusals\":";
    append_json(out, *refusals);
    out += ",";
  }
  out += "\"figures\":{";
  bool first = true;
  for (const auto& [name, value] : seed.figures) {
    out += fmt::format("{}{}:", first ? "" : ",", quoted(name));
    append_number(out, value);
    first = false;
  }
  out += "},";
  append_columns(out, table, rows_max);
  out += "}";
}

std::string default_title(const FoundRuns& found) {
  constexpr std::size_t kNamed = 4;
  std::string title;
  for (std::size_t i = 0; i < std::min(kNamed, found.runs.size()); ++i)
    title += fmt::format("{}{}", i > 0 ? ", " : "", found.runs[i].name);
  if (found.runs.size() > kNamed) title += fmt::format(" and {} more", found.runs.size() - kNamed);
  return title;
}

std::size_t rows_that_fit(std::span<const MetricsTable> tables, const PageOptions& options) {
  if (options.rows_max > 0) return options.rows_max;
  std::size_t columns = 0;
  for (const MetricsTable& table : tables) columns += table.columns.size();
  return std::clamp<std::size_t>(options.values_max / std::max<std::size_t>(columns, 1), 60, 2000);
}

void replace_first(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  CHECK(at != std::string::npos);
  text.replace(at, what.size(), by);
}

}  // namespace

std::string page_data(const FoundRuns& found, std::span<const MetricsTable> tables,
                      const PageOptions& options) {
  const std::size_t rows_max = rows_that_fit(tables, options);
  std::string out = fmt::format(
      "{{\"title\":{},\"live\":{},\"runs\":[",
      quoted(options.title.empty() ? default_title(found) : options.title), options.live);
  NodeFacts facts;
  std::size_t next_table = 0;
  for (std::size_t r = 0; r < found.runs.size(); ++r) {
    const StoredRun& run = found.runs[r];
    out += fmt::format("{}{{\"name\":{},\"command\":{},\"config\":{{", r > 0 ? "," : "",
                       quoted(run.name), quoted(run.command));
    for (std::size_t i = 0; i < run.config.size(); ++i)
      out += fmt::format("{}{}:{}", i > 0 ? "," : "", quoted(run.config[i].first),
                         quoted(run.config[i].second));
    out += "},\"seeds\":[";
    for (std::size_t s = 0; s < run.seeds.size(); ++s) {
      if (s > 0) out += ",";
      append_seed(out, run.seeds[s], tables[next_table++], rows_max);
    }
    out += "]";
    const Json summary = Json::parse(run.seeds[0].summary, nullptr, false);
    if (summary.is_object()) facts.append(out, summary, r);
    out += "}";
  }
  out += "],\"left_out\":[";
  for (std::size_t i = 0; i < found.left_out.size(); ++i)
    out += fmt::format("{}{}", i > 0 ? "," : "", quoted(found.left_out[i].message));
  out += "]}";
  // A run may be called "</script>"; outside strings JSON has no "<".
  std::string safe;
  safe.reserve(out.size());
  for (const char c : out) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string page_with(const std::string& data, bool live) {
  std::string page(page_template());
  replace_first(page, kLiveGap, live ? "live" : "still");
  replace_first(page, kDataGap, data);
  return page;
}

}  // namespace tessera
