#include "report/curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/welch.h"

namespace tessera {
namespace {

constexpr std::array kBands = {
    BandName{"none", "the mean over seeds alone", Band::kNone},
    BandName{"range", "from the lowest to the highest seed", Band::kRange},
    BandName{"deviation", "a standard deviation over seeds to either side", Band::kDeviation},
    BandName{"confidence", "where the mean lies with 95% confidence, by Student's t over seeds",
             Band::kConfidence},
};

// One seed's points, without rows that lack a value; of equal x the last stays, as on the page.
Curve points_of(const MetricsTable& table, CurveColumns columns) {
  Curve curve;
  const MetricsTable::Column* xs = table.find(columns.x);
  const MetricsTable::Column* ys = table.find(columns.y);
  if (!xs || !ys) return curve;
  for (std::size_t i = 0; i < table.rows; ++i) {
    const double x = xs->values[i], y = ys->values[i];
    if (std::isnan(x) || std::isnan(y)) continue;
    if (!curve.x.empty() && x < curve.x.back()) continue;
    if (!curve.x.empty() && x == curve.x.back()) {
      curve.y.back() = y;
      continue;
    }
    curve.x.push_back(x);
    curve.y.push_back(y);
  }
  return curve;
}

double value_at(const Curve& curve, double x) {
  const auto after = std::upper_bound(curve.x.begin(), curve.x.end(), x);
  if (after == curve.x.begin()) return curve.y.front();
  if (after == curve.x.end()) return curve.y.back();
  const auto i = static_cast<std::size_t>(after - curve.x.begin());
  const double part = (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
  return curve.y[i - 1] + part * (curve.y[i] - curve.y[i - 1]);
}

// Where any seed was measured and all have been. Times differ from seed to seed, so that there may
// be many such places: as many are kept as the longest seed has rows, and a few.
std::vector<double> grid_of(std::span<const Curve> seeds) {
  double from = -INFINITY, to = INFINITY;
  std::size_t kept = 1;
  std::vector<double> all;
  for (const Curve& seed : seeds) {
    from = std::max(from, seed.x.front());
    to = std::min(to, seed.x.back());
    kept = std::max(kept, seed.x.size());
    all.insert(all.end(), seed.x.begin(), seed.x.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](double x) { return x < from || x > to; });
  const std::size_t stride = (all.size() + kept - 1) / kept;
  std::vector<double> grid;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % stride == 0 || i + 1 == all.size()) grid.push_back(all[i]);
  return grid;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Interval95 band_of(std::span<const double> values, Band band) {
  if (band == Band::kConfidence) return *confidence_of(values);
  if (band == Band::kRange)
    return {*std::min_element(values.begin(), values.end()),
            *std::max_element(values.begin(), values.end())};
  const double mean = mean_of(values), deviation = deviation_of(values);
  return {mean - deviation, mean + deviation};
}

}  // namespace

std::span<const BandName> bands() {
  return kBands;
}

Curve curve_of(std::span<const MetricsTable> seeds, CurveColumns columns, Band band) {
  std::vector<Curve> each;
  for (const MetricsTable& seed : seeds)
    if (Curve curve = points_of(seed, columns); !curve.x.empty()) each.push_back(std::move(curve));
  if (each.empty()) return {};
  if (each.size() == 1) return each.front();
  Curve curve{.x = grid_of(each)};
  for (const double x : curve.x) {
    std::vector<double> values;
    for (const Curve& seed : each) values.push_back(value_at(seed, x));
    curve.y.push_back(mean_of(values));
    if (band == Band::kNone) continue;
    const Interval95 around = band_of(values, band);
    curve.low.push_back(around.low);
    curve.high.push_back(around.high);
  }
  return curve;
}

std::optional<Interval95> confidence_of(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  // The t beyond which 5% lie: 12.7 with one degree of freedom, less with more.
  double below = 0, above = 13;
  for (int i = 0; i < 60; ++i) {
    const double middle = (below + above) / 2;
    (student_t_two_sided(middle, count - 1) > 0.05 ? below : above) = middle;
  }
  const double mean = mean_of(values), half = below * deviation_of(values) / std::sqrt(count);
  return Interval95{mean - half, mean + half};
}

}  // namespace tessera
