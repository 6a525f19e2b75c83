#include "report/metrics_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "report/metrics_table.h"

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

Result<std::string> metrics_csv(std::span<const StoredRun> runs) {
  std::vector<std::string> names;
  std::vector<std::string> befores;
  std::vector<MetricsTable> tables;
  for (const StoredRun& run : runs)
    for (const StoredSeed& seed : run.seeds) {
      Result<MetricsTable> table = read_metrics(seed.folder / "metrics.jsonl");
      if (!table.ok()) return table.error();
      for (const auto& column : table->columns)
        if (std::find(names.begin(), names.end(), column.name) == names.end())
          names.push_back(column.name);
      tables.push_back(std::move(*table));
      befores.push_back(fmt::format("{},{}", csv_field(run.name), seed.seed));
    }
  std::string out = "run,seed";
  for (const std::string& name : names) out += "," + name;
  out += "\n";
  for (std::size_t i = 0; i < tables.size(); ++i) append_rows(out, befores[i], tables[i], names);
  return out;
}

}  // namespace tessera
