#include "report/metrics_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <set>
#include <vector>

namespace tessera {
namespace {

void append_rows(std::string& out, const std::string& before, const MetricsTable& table,
                 std::span<const std::string> names) {
  std::vector<const MetricsTable::Column*> columns;
  for (const std::string& name : names) columns.push_back(table.find(name));
  for (std::size_t row = 0; row < table.rows; ++row) {
    out += before;
    for (const MetricsTable::Column* column : columns) {
      out += ',';
      if (column && !std::isnan(column->values[row]))
        fmt::format_to(std::back_inserter(out), "{}", column->values[row]);
    }
    out += '\n';
  }
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

std::string csv_words(std::string_view text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != text.npos;
  return csv_field(formula ? fmt::format("'{}", text) : std::string(text));
}

std::string metrics_csv(std::span<const StoredRun> runs, std::span<const MetricsTable> tables) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  const auto add = [&](const std::vector<MetricsTable::Column>& columns) {
    for (const auto& column : columns)
      if (seen.insert(column.name).second) names.push_back(column.name);
  };
  for (const MetricsTable& table : tables) add(table.columns);
  for (const MetricsTable& table : tables) add(table.list_columns);
  std::string out = "run,seed";
  for (const std::string& name : names) out += fmt::format(",{}", csv_words(name));
  out += "\n";
  std::size_t next = 0;
  for (const StoredRun& run : runs)
    for (const StoredSeed& seed : run.seeds)
      append_rows(out, fmt::format("{},{}", csv_words(run.name), csv_words(seed.seed)),
                  tables[next++], names);
  return out;
}

}  // namespace tessera
