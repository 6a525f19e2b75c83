// One HTML page that shows runs: scripts, styles and figures in a single file that asks the network
// for nothing when it is opened. What it looks like is written in web/; the build puts those files
// together and into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "report/metrics_table.h"
#include "report/stored_run.h"

namespace tessera {

struct PageOptions {
  std::string title{};              // Empty: the names of the runs.
  std::size_t rows_max = 0;         // Rows drawn per run and seed; 0: as many as keep it small.
  bool live = false;                // The runs may go on; the page asks its server again.
  std::size_t values_max = 180000;  // Together, when rows_max is 0: some 1.2 MB of text.
};

// The figures behind a page, as JSON that may stand inside a script element. A table for every seed
// of every run.
std::string page_data(const FoundRuns& found, std::span<const MetricsTable> tables,
                      const PageOptions& options);
// The whole page around such figures.
std::string page_with(const std::string& data, bool live);

}  // namespace tessera
