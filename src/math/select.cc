#include "math/select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/prefetch.h"
#include "math/select_passes.h"

namespace tessera {
namespace {

// The k-th largest magnitude, and how many are strictly larger.
struct Threshold {
  std::uint32_t magnitude = 0;
  std::size_t larger = 0;
};

constexpr std::size_t kSample = 1024;
// From here on a histogram of all costs less than a sample and one of what it leaves.
constexpr std::size_t kMany = 16 * kSample;
// And from here on sorting costs less than that.
constexpr std::size_t kFew = 256;

// Reorders the magnitudes.
Threshold threshold_of_few(std::span<std::uint32_t> all, std::size_t k) {
  const auto kth = all.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(all.begin(), kth, all.end(), std::greater<>());
  const auto larger = std::count_if(all.begin(), kth, [&](std::uint32_t m) { return m > *kth; });
  return {*kth, static_cast<std::size_t>(larger)};
}

// How many magnitudes of a bracket fall into each of its even parts.
class Histogram {
 public:
  explicit Histogram(Bracket bracket)
      : bracket_(bracket),
        shift_(std::max(static_cast<int>(std::bit_width(bracket.high - bracket.low)), kBits) -
               kBits) {}

  void add(std::uint32_t magnitude) { ++bins_[(magnitude - bracket_.low) >> shift_]; }

  // The bin that the k-th largest fell into, and how many are in those above.
  struct Bin {
    Bracket bracket{};
    std::size_t larger = 0;
  };
  Bin bin_of(std::size_t k) const {
    std::size_t larger = 0;
    std::uint32_t bin = (bracket_.high - bracket_.low) >> shift_;
    while (bin > 0 && larger + bins_[bin] < k) larger += bins_[bin--];
    const std::uint32_t low = bracket_.low + (bin << shift_);
    return {{.low = low, .high = std::min(low + (1u << shift_) - 1, bracket_.high)}, larger};
  }

 private:
  static constexpr int kBits = 11;
  Bracket bracket_;
  int shift_;
  std::array<std::uint32_t, 1u << kBits> bins_{};
};

using Sample = std::array<std::uint32_t, kSample>;

Sample sample_of(const Scores& scores) {
  const auto place = [&](std::size_t i) { return i * scores.size() / kSample; };
  // The numbers have just been computed; the others were last used a round ago.
  if (!scores.others.empty())
    for (std::size_t i = 0; i < kSample; ++i) prefetch_at(scores.others.data() + place(i));
  Sample sample;
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = magnitude(scores[place(i)]);
  return sample;
}

std::uint32_t kth_of(const Sample& sample, const Histogram& histogram, std::size_t k) {
  const auto [bracket, larger] = histogram.bin_of(k);
  Sample members;
  std::size_t count = 0;
  for (const std::uint32_t m : sample) {
    // Written in any case and kept if it counts: a branch would be mispredicted.
    members[count] = m;
    count += m >= bracket.low && m <= bracket.high ? 1 : 0;
    if (count == kSample) break;
  }
  return threshold_of_few(std::span(members).first(count), k - larger).magnitude;
}

// Two magnitudes that hold the k-th largest of all between them, by the look of an evenly spaced
// sample: its expected rank give or take four standard deviations, so that about one call in ten
// thousand needs a histogram of all. Where many are equal the two are one.
Bracket bracket_from_sample(const Scores& scores, std::size_t k, Bracket bracket) {
  const Sample sample = sample_of(scores);
  Histogram histogram({});
  for (const std::uint32_t m : sample) histogram.add(m);
  const double fraction = static_cast<double>(k) / static_cast<double>(scores.size());
  const double rank = fraction * kSample;
  const double spread = 4 * std::sqrt(kSample * fraction * (1 - fraction)) + 1;
  const auto at = [&](double place) {
    return kth_of(sample, histogram, static_cast<std::size_t>(place) + 1);
  };
  if (rank - spread >= 0) bracket.high = at(rank - spread);
  if (rank + spread < kSample) bracket.low = at(rank + spread);
  return bracket;
}

Threshold find_threshold(const Scores& scores, std::size_t k) {
  // Stays with the thread, as the wavelet's scratch does and for the same reason.
  thread_local Vector kept;
  if (kept.size() < scores.size() + kPassSlack) kept.resize(scores.size() + kPassSlack);
  Scores rest = scores;
  Bracket bracket;
  std::size_t larger = 0;
  bool sample = true;
  while (rest.size() > kFew && bracket.low < bracket.high) {
    const std::size_t wanted = k - larger;
    Bracket narrower;
    if (sample && rest.size() > kMany) {
      narrower = bracket_from_sample(rest, wanted, bracket);
    } else {
      Histogram histogram(bracket);
      for (std::size_t i = 0; i < rest.size(); ++i) histogram.add(magnitude(rest[i]));
      narrower = histogram.bin_of(wanted).bracket;
    }
    const BracketCount count = keep_inside(rest, narrower, kept.data());
    const bool bracketed = count.above < wanted && wanted <= count.above + count.inside;
    // A sample that did not help would not the next time, either.
    sample = sample && bracketed && count.inside <= rest.size() / 2;
    if (!bracketed) {  // What had been kept is written over.
      rest = scores;
      bracket = {};
      larger = 0;
      continue;
    }
    bracket = narrower;
    larger += count.above;
    rest = {.numbers = std::span(kept).first(count.inside)};
  }
  if (bracket.low == bracket.high) return {bracket.low, larger};
  std::array<std::uint32_t, kFew> few;
  for (std::size_t i = 0; i < rest.size(); ++i) few[i] = magnitude(rest[i]);
  const Threshold last = threshold_of_few(std::span(few).first(rest.size()), k - larger);
  return {last.magnitude, larger + last.larger};
}

// Of 0 < k < scores.size().
Largest find_largest(const Scores& scores, std::size_t k) {
  CHECK(scores.size() <= std::numeric_limits<std::uint32_t>::max());
  const Threshold threshold = find_threshold(scores, k);
  return {.threshold = threshold.magnitude, .ties = k - threshold.larger};
}

}  // namespace

void select_largest(std::span<const float> scores, std::size_t k, Indices& chosen) {
  CHECK(k <= scores.size());
  chosen.resize(k + (k > 0 && k < scores.size() ? kPassSlack : 0));
  if (k == 0) return;
  if (k == scores.size()) return std::iota(chosen.begin(), chosen.end(), 0u);
  const Scores all{.numbers = scores};
  const std::size_t written = write_indices(all, find_largest(all, k), chosen.data());
  CHECK(written == k);
  chosen.resize(k);
}

LargestChanges take_largest_changes(std::span<const float> now, std::span<float> told,
                                    std::span<const float> next, std::size_t k) {
  CHECK(k <= now.size());
  CHECK(now.size() == told.size());
  CHECK(now.size() == next.size());
  LargestChanges changes;
  if (k == 0) return changes;
  // All of them: those over nothing, and as many ties as there may be.
  const Largest largest = k < now.size() ? find_largest({.numbers = now, .others = told}, k)
                                         : Largest{.threshold = 0, .ties = k};
  changes.indices.resize(k + kPassSlack);
  const std::size_t written = take_changes(now, told, next, largest, changes.indices.data());
  CHECK(written == k);
  changes.indices.resize(k);
  // Not packed from vectors like the indices: without AVX-512 that takes longer.
  changes.values.resize(k);
  for (std::size_t i = 0; i < k; ++i) changes.values[i] = now[changes.indices[i]];
  return changes;
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

LargestChanges take_largest_changes(std::span<const float> now, std::span<float> told,
                                    std::span<const float> next, std::size_t k) {
  Vector scores(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) scores[i] = now[i] - told[i];
  LargestChanges changes;
  select_largest(scores, k, changes.indices);
  for (const std::uint32_t i : changes.indices) {
    changes.values.push_back(now[i]);
    told[i] = next[i];
  }
  return changes;
}

}  // namespace plain
}  // namespace tessera
