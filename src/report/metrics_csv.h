// Rows for whatever reads CSV: pandas, spreadsheets, gnuplot, TensorBoard's own converters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/stored_run.h"

namespace tessera {

// A field, between quotes where a comma, a quote or a line's end would break the row.
std::string csv_field(std::string_view text);

// Every row of every run in one table, with the columns run and seed before the figures.
Result<std::string> metrics_csv(std::span<const StoredRun> runs);

}  // namespace tessera
