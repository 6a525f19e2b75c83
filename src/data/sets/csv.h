// A table of numbers as text, a sample per line under a line of names:
//
//   length,width,kind
//   5.1,3.5,iris
//   6.2,2.9,rose
//
// One column is the class, as any text; the others are features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

struct CsvTable {
  std::size_t width = 0;          // Features of a sample.
  std::vector<float> features{};  // One sample after the other.
  std::vector<std::string> labels{};
};

// `label` names the column of classes; empty: the last one.
Result<CsvTable> parse_csv(std::string_view text, std::string_view label);

DataSource csv_source(Options& options);

}  // namespace tessera
