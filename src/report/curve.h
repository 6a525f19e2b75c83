// A run's figure as a curve: the mean over its seeds, and a band around it. The page draws the same
// (web/model.js).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/metrics_table.h"

namespace tessera {

enum class Band { kNone, kRange, kDeviation, kConfidence };

struct BandName {
  std::string_view name{};
  std::string_view summary{};
  Band band = Band::kNone;
};
std::span<const BandName> bands();

struct Curve {
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  // Empty: no band, as where there is one seed.
};

// Columns of a MetricsTable.
struct CurveColumns {
  std::string_view x{}, y{};
};

// Over the stretch of x on which every seed has been; between two rows the way is straight. Seeds
// without these columns are left out.
Curve curve_of(std::span<const MetricsTable> seeds, CurveColumns columns, Band band);

struct Interval95 {
  double low = 0, high = 0;
};
// Of the mean these values were drawn around, by Student's t; nothing for fewer than two.
std::optional<Interval95> confidence_of(std::span<const double> values);

}  // namespace tessera
