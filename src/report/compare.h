// Runs beside each other for the terminal, a paper or a spreadsheet. The first run is what the
// others are compared with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/stored_run.h"
#include "report/table_text.h"

namespace tessera {

// A row per run. Accuracy, loss and bytes are means over seeds, with the standard deviation of the
// accuracy; then what a run saves and gains against the first, and how likely chance would make
// that difference in accuracy (Welch's test over seeds). The best of each column is marked; runs
// that are not finished or not comparable with the first take no part in that.
std::string comparison_table(std::span<const StoredRun> runs, TableFormat format,
                             const std::vector<std::string>& columns = {});  // None: all.

// "run,network.slowdown,accuracy" as columns' names, titles being taken too. Besides those of
// all_columns() there are columns that are shown only where they are named, and a line of
// config.toml can be one, whose `keys` these are, or an option of it. Throws std::invalid_argument.
std::vector<std::string> parse_columns(std::string_view text,
                                       std::span<const std::string_view> keys);
std::vector<std::string> all_columns();

// What a reader must know besides: which runs have hostile nodes, which are unfinished, which have
// other data or another model than the first, which have other seeds.
std::vector<std::string> comparison_notes(std::span<const StoredRun> runs);

}  // namespace tessera
