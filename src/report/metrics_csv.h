// Rows for whatever reads CSV: pandas, spreadsheets, gnuplot, TensorBoard's own converters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/metrics_table.h"
#include "report/stored_run.h"

namespace tessera {

// A field, between quotes where a comma, a quote or a line's end would break the row.
std::string csv_field(std::string_view text);
// A field of words. Spreadsheets take one that begins with =, +, - or @ for a formula and do what
// it says, so that an apostrophe stands before it.
std::string csv_words(std::string_view text);

// Every row of every run in one table, with the columns run and seed before the figures. A table
// for every seed of every run.
std::string metrics_csv(std::span<const StoredRun> runs, std::span<const MetricsTable> tables);

}  // namespace tessera
