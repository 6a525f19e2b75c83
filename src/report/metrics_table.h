// metrics.jsonl as columns: one of numbers for every figure that any row has.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/stored_run.h"

namespace tessera {

struct MetricsTable {
  struct Column {
    std::string name{};
    std::vector<double> values{};  // NaN where a row lacks the figure.
  };
  std::vector<Column> columns{};  // In the order in which they first appear.
  // Of figures that are lists, such as node_accuracy: a column per place, node_accuracy_0 and on.
  std::vector<Column> list_columns{};
  std::size_t rows = 0;
  std::string note{};  // What could not be read; empty when all could.

  const Column* find(std::string_view name) const;
};

// A run that is still going may end in half a line, which is left for the next reading. A file that
// is not there yet is a table without rows; a line that is no row of figures is passed over.
MetricsTable read_metrics(const std::filesystem::path& path);
// A table for every seed of every run, in their order.
std::vector<MetricsTable> read_metrics(std::span<const StoredRun> runs);

// The rows to draw when there are more than `rows_max`: the first, the last, and of every stretch
// of rows those where accuracy, loss and queues are lowest or highest. So whatever a curve reaches
// is in the picture, at its place, and every point drawn was measured.
std::vector<std::size_t> rows_to_draw(const MetricsTable& table, std::size_t rows_max);

}  // namespace tessera
