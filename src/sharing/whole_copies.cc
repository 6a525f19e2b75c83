#include "sharing/whole_copies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/vector_ops.h"

namespace tessera {
namespace {

// Calls fn(k, coordinate) for the k-th value of a copy.
template <typename Fn>
void each_place(const Copy& copy, Fn&& fn) {
  for (std::size_t k = 0; k < copy.values.size(); ++k) fn(k, copy.everything ? k : copy.indices[k]);
}

bool is_finite(const Copy& copy) {
  return std::all_of(copy.values.begin(), copy.values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

WholeCopies::WholeCopies(std::span<const float> x, std::span<const Copy> others) {
  constexpr std::uint32_t kUntold = UINT32_MAX;
  Indices place_of(x.size(), kUntold);
  for (const Copy& other : others)
    each_place(other, [&](std::size_t, std::size_t at) { place_of[at] = 0; });
  Vector own;
  for (std::uint32_t at = 0; at < x.size(); ++at) {
    if (place_of[at] == kUntold) continue;
    place_of[at] = static_cast<std::uint32_t>(where.size());
    where.push_back(at);
    own.push_back(x[at]);
  }
  copies.push_back(std::move(own));
  for (const Copy& other : others) {
    if (!is_finite(other)) continue;
    Vector copy = copies.front();
    each_place(other, [&](std::size_t k, std::size_t at) { copy[place_of[at]] = other.values[k]; });
    copies.push_back(std::move(copy));
    weights.push_back(other.weight);
  }
}

void WholeCopies::put_back(std::span<const float> values, std::span<float> x) const {
  for (std::size_t k = 0; k < where.size(); ++k) x[where[k]] = values[k];
}

std::vector<std::vector<double>> squared_distances(const std::vector<Vector>& copies) {
  std::vector<std::vector<double>> rows(copies.size(), std::vector<double>(copies.size(), 0));
  for (std::size_t i = 0; i < copies.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      rows[i][j] = rows[j][i] = squared_distance(copies[i], copies[j]);
  return rows;
}

Vector mean_of(const std::vector<Vector>& copies, std::span<const std::size_t> chosen) {
  std::vector<double> sum(copies.front().size(), 0);
  for (const std::size_t i : chosen)
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += double{copies[i][k]};
  Vector mean(sum.size());
  for (std::size_t k = 0; k < sum.size(); ++k)
    mean[k] = static_cast<float>(sum[k] / static_cast<double>(chosen.size()));
  return mean;
}

std::vector<std::size_t> smallest(std::span<const double> scores, std::size_t count) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  order.resize(count);
  return order;
}

}  // namespace tessera
