#include "math/max_min.h"

#include <algorithm>

namespace tessera {
namespace {

// What the flows held back elsewhere take, and how many are left to share the rest.
struct Division {
  double taken = 0;
  std::size_t sharing = 0;
};

// Four sums side by side: the CPU need not wait for one addition before it begins the next. The
// order is fixed, so the result is too.
Division divide(double level, std::span<const double> limits) {
  std::array<double, 4> taken{};
  std::array<std::size_t, 4> sharing{};
  std::size_t i = 0;
  for (; i + 4 <= limits.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double limit = limits[i + lane];
      const bool below = limit < level;
      taken[lane] += below ? limit : 0.0;
      sharing[lane] += below ? 0 : 1;
    }
  for (; i < limits.size(); ++i) {
    const bool below = limits[i] < level;
    taken[0] += below ? limits[i] : 0.0;
    sharing[0] += below ? 0 : 1;
  }
  return {(taken[0] + taken[1]) + (taken[2] + taken[3]),
          (sharing[0] + sharing[1]) + (sharing[2] + sharing[3])};
}

}  // namespace

// Newton's method on a concave, increasing, piecewise linear function: from an even split, which is
// never too high, every step goes up and none passes the answer. It ends because a step that leaves
// the division as it was repeats the level bit for bit. Two or three steps are usual.
double fair_level(double capacity, std::span<const double> limits) {
  if (limits.empty()) return kUnlimited;
  double level = capacity / static_cast<double>(limits.size());
  while (true) {
    const Division division = divide(level, limits);
    if (division.sharing == 0) return kUnlimited;
    const double higher = (capacity - division.taken) / static_cast<double>(division.sharing);
    if (!(higher > level)) return level;
    level = higher;
  }
}

namespace plain {

std::vector<double> max_min_rates(std::span<const double> capacities,
                                  std::span<const SharedFlow> flows) {
  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> settled(flows.size(), false);
  std::vector<double> left(capacities.begin(), capacities.end());
  std::size_t rising = flows.size();
  while (rising > 0) {
    // The lowest rate at which something stops a flow that still rises.
    std::vector<std::size_t> crowd(capacities.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (!settled[f])
        for (const std::uint32_t link : flows[f].links) ++crowd[link];
    double level = kUnlimited;
    for (std::size_t link = 0; link < left.size(); ++link)
      if (crowd[link] > 0)
        level = std::min(level, std::max(left[link], 0.0) / static_cast<double>(crowd[link]));
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (!settled[f]) level = std::min(level, flows[f].limit);

    // Found before any is settled: settling takes capacity away and would change the question.
    std::vector<std::size_t> stopped;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (settled[f]) continue;
      bool stops = flows[f].limit <= level;
      for (const std::uint32_t link : flows[f].links)
        stops |= std::max(left[link], 0.0) / static_cast<double>(crowd[link]) <= level;
      if (stops) stopped.push_back(f);
    }
    for (const std::size_t f : stopped) {
      rates[f] = level;
      settled[f] = true;
      for (const std::uint32_t link : flows[f].links) left[link] -= level;
    }
    rising -= stopped.size();
  }
  return rates;
}

}  // namespace plain
}  // namespace tessera
