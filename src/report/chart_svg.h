// A chart of curves as SVG, for a paper: the page's own, drawn without a browser.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/axis.h"
#include "report/curve.h"
#include "report/stored_run.h"

namespace tessera {

struct ChartAxis {
  std::string label{};
  Unit unit = Unit::kPlain;
};

struct NamedCurve {
  std::string name{};
  Curve curve{};
};

struct Chart {
  std::string title{};
  ChartAxis x{}, y{};
  std::vector<NamedCurve> curves{};  // Each has a point.
};

std::string to_svg(const Chart& chart);

// A chart for a file: accuracy, loss and their like against rounds, bytes and virtual time, as far
// as the runs have them. A table for every seed of every run.
struct ChartFile {
  std::string name{};  // "accuracy-bytes.svg"
  std::string svg{};
};
std::vector<ChartFile> chart_files(std::span<const StoredRun> runs,
                                   std::span<const MetricsTable> tables, Band band);

}  // namespace tessera
