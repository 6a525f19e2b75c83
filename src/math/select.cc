#include "math/select.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "math/select_passes.h"

namespace tessera {
namespace {

using Scores = std::span<const float>;

// The k-th largest magnitude, and how many are strictly larger.
struct Threshold {
  std::uint32_t magnitude = 0;
  std::size_t larger = 0;
};

constexpr std::size_t kSample = 1024;
// Below this, sorting costs less than sampling.
constexpr std::size_t kFew = 2 * kSample;

Threshold threshold_of_few(Scores scores, std::size_t k) {
  std::array<std::uint32_t, kFew> all{};
  const auto end = std::transform(scores.begin(), scores.end(), all.begin(), magnitude);
  const auto kth = all.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(all.begin(), kth, end, std::greater<>());
  const auto larger = std::count_if(all.begin(), kth, [&](std::uint32_t m) { return m > *kth; });
  return {*kth, static_cast<std::size_t>(larger)};
}

// Exact, whatever the data: a histogram of the upper 11 bits, then of the next 11 within the bin
// the k-th largest falls into, then of the last 9 (31 in all).
Threshold threshold_by_histogram(Scores scores, std::size_t k) {
  constexpr std::array<int, 3> kWidths = {11, 11, 9};
  std::uint32_t prefix = 0, prefix_mask = 0;
  std::size_t larger = 0;
  int shift = 31;
  for (const int width : kWidths) {
    shift -= width;
    std::array<std::size_t, 1 << 11> bins{};
    const std::uint32_t bin_mask = (1u << width) - 1;
    for (const float score : scores) {
      const std::uint32_t m = magnitude(score);
      if ((m & prefix_mask) == prefix) ++bins[(m >> shift) & bin_mask];
    }
    std::uint32_t bin = bin_mask;
    while (larger + bins[bin] < k) larger += bins[bin--];
    prefix |= bin << shift;
    prefix_mask |= bin_mask << shift;
  }
  return {prefix, larger};
}

// Two magnitudes that hold the k-th largest of all between them, by the look of an evenly spaced
// sample: its expected rank give or take four standard deviations, so that about one call in ten
// thousand needs the histogram.
Bracket bracket_from_sample(Scores scores, std::size_t k) {
  std::array<std::uint32_t, kSample> sample;
  for (std::size_t i = 0; i < kSample; ++i)
    sample[i] = magnitude(scores[i * scores.size() / kSample]);
  const double fraction = static_cast<double>(k) / static_cast<double>(scores.size());
  const double rank = fraction * kSample;
  const double spread = 4 * std::sqrt(kSample * fraction * (1 - fraction)) + 1;
  Bracket bracket{.low = 0, .high = std::numeric_limits<std::int32_t>::max()};
  auto low_rank = sample.begin(), high_rank = sample.begin();
  if (rank - spread >= 0) {
    high_rank += static_cast<std::ptrdiff_t>(rank - spread);
    std::nth_element(sample.begin(), high_rank, sample.end(), std::greater<>());
    bracket.high = *high_rank;
  }
  if (rank + spread < kSample) {
    low_rank += static_cast<std::ptrdiff_t>(rank + spread);
    std::nth_element(high_rank, low_rank, sample.end(), std::greater<>());
    bracket.low = *low_rank;
  }
  return bracket;
}

Threshold find_threshold(Scores scores, std::size_t k, Vector& kept) {
  Scores rest = scores;
  std::size_t larger = 0;
  while (rest.size() > kFew) {
    const std::size_t wanted = k - larger;
    const Bracket bracket = bracket_from_sample(rest, wanted);
    const BracketCount count = keep_inside(rest, bracket, kept.data());
    const bool bracketed = count.above < wanted && wanted <= count.above + count.inside;
    const bool narrower = count.inside <= rest.size() / 2;
    if (bracketed && bracket.low == bracket.high) return {bracket.low, larger + count.above};
    if (!bracketed || !narrower) return threshold_by_histogram(scores, k);
    larger += count.above;
    rest = Scores(kept).first(count.inside);
  }
  const Threshold last = threshold_of_few(rest, k - larger);
  return {last.magnitude, larger + last.larger};
}

}  // namespace

void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen) {
  CHECK(k <= scores.size());
  CHECK(scores.size() <= std::numeric_limits<std::uint32_t>::max());
  chosen.resize(k + (k > 0 && k < scores.size() ? kPassSlack : 0));
  if (k == 0) return;
  if (k == scores.size()) return std::iota(chosen.begin(), chosen.end(), 0u);
  // Stays with the thread, as the wavelet's scratch does and for the same reason.
  thread_local Vector kept;
  if (kept.size() < scores.size() + kPassSlack) kept.resize(scores.size() + kPassSlack);
  const Threshold threshold = find_threshold(scores, k, kept);
  const std::size_t written =
      write_indices(scores, threshold.magnitude, k - threshold.larger, chosen.data());
  CHECK(written == k);
  chosen.resize(k);
}

namespace plain {

void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen) {
  chosen.resize(scores.size());
  std::iota(chosen.begin(), chosen.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t of_a = magnitude(scores[a]), of_b = magnitude(scores[b]);
    return of_a != of_b ? of_a > of_b : a < b;
  };
  std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(k), chosen.end(),
                   before);
  chosen.resize(k);
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace plain
}  // namespace tessera
