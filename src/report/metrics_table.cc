#include "report/metrics_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Columns = std::vector<MetricsTable::Column>;

// Puts a row's figures into their columns. Rows of one file have the same figures in the same
// order, so the column is nearly always the next one.
class RowWriter {
 public:
  RowWriter(Columns& columns, std::size_t row) : columns_(columns), row_(row) {}
  void put(const std::string& name, double value) {
    std::size_t at = next_;
    if (at >= columns_.size() || columns_[at].name != name)
      for (at = 0; at < columns_.size() && columns_[at].name != name;) ++at;
    if (at == columns_.size()) columns_.push_back({name, std::vector<double>(row_, kNone)});
    columns_[at].values.push_back(value);
    next_ = at + 1;
  }
  ~RowWriter() {
    for (MetricsTable::Column& column : columns_) column.values.resize(row_ + 1, kNone);
  }

 private:
  Columns& columns_;
  std::size_t row_, next_ = 0;
};

void append_row(MetricsTable& table, const nlohmann::ordered_json& row) {
  RowWriter figures(table.columns, table.rows), lists(table.list_columns, table.rows);
  for (const auto& [name, value] : row.items()) {
    if (value.is_number()) figures.put(name, value.get<double>());
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
      if (value[i].is_number()) lists.put(fmt::format("{}_{}", name, i), value[i].get<double>());
  }
  ++table.rows;
}

// The row of [begin, end) with the smallest value times `sign`; `end` when none has a value.
std::size_t extreme(const std::vector<double>& values, std::size_t begin, std::size_t end,
                    double sign) {
  std::size_t best = end;
  for (std::size_t i = begin; i < end; ++i)
    if (!std::isnan(values[i]) && (best == end || sign * values[i] < sign * values[best])) best = i;
  return best;
}

struct Watched {
  std::string_view column;
  double sign;
};
constexpr std::array kWatched = {Watched{"accuracy", 1}, Watched{"accuracy", -1},
                                 Watched{"loss", 1}, Watched{"loss", -1}, Watched{"queue_max", -1}};

}  // namespace

const MetricsTable::Column* MetricsTable::find(std::string_view name) const {
  for (const std::vector<Column>* all : {&columns, &list_columns})
    for (const Column& column : *all)
      if (column.name == name) return &column;
  return nullptr;
}

MetricsTable read_metrics(const std::filesystem::path& path) {
  MetricsTable table;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return table;
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    table.note = text.error().message;
    return table;
  }
  std::size_t begin = 0, line_number = 0, first_bad = 0, bad = 0;
  for (std::size_t end; (end = text->find('\n', begin)) != text->npos; begin = end + 1) {
    ++line_number;
    const char* line = text->data() + begin;
    const auto row = nlohmann::ordered_json::parse(line, text->data() + end, nullptr, false);
    if (row.is_object())
      append_row(table, row);
    else if (bad++ == 0)
      first_bad = line_number;
  }
  if (bad > 0)
    table.note = fmt::format("{}: {} of {} lines are no rows of figures, the first is line {}",
                             path.string(), bad, line_number, first_bad);
  return table;
}

std::vector<MetricsTable> read_metrics(std::span<const StoredRun> runs) {
  std::vector<MetricsTable> tables;
  for (const StoredRun& run : runs)
    for (const StoredSeed& seed : run.seeds)
      tables.push_back(read_metrics(seed.folder / "metrics.jsonl"));
  return tables;
}

std::vector<std::size_t> rows_to_draw(const MetricsTable& table, std::size_t rows_max) {
  std::vector<std::size_t> rows;
  if (table.rows <= std::max<std::size_t>(rows_max, 2)) {
    for (std::size_t i = 0; i < table.rows; ++i) rows.push_back(i);
    return rows;
  }
  const std::size_t stretches =
      std::max<std::size_t>(1, (rows_max > 2 ? rows_max - 2 : 0) / kWatched.size());
  std::set<std::size_t> kept = {0, table.rows - 1};
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = s * table.rows / stretches;
    const std::size_t end = (s + 1) * table.rows / stretches;
    for (const Watched& watched : kWatched) {
      const MetricsTable::Column* column = table.find(watched.column);
      const std::size_t row = column ? extreme(column->values, begin, end, watched.sign) : end;
      if (row < end) kept.insert(row);
    }
  }
  rows.assign(kept.begin(), kept.end());
  return rows;
}

}  // namespace tessera
