// The two passes over all scores that selection spends its time in, and one over what it chose.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

// A magnitude as an integer of the same order. The bits of a float without its sign grow with its
// magnitude, infinity is 0x7f800000, and all NaNs become the one number above it.
constexpr std::uint32_t kNotANumber = 0x7f800001;
constexpr std::uint32_t magnitude(float score) {
  const std::uint32_t without_sign = std::bit_cast<std::uint32_t>(score) & 0x7fffffff;
  return without_sign < kNotANumber ? without_sign : kNotANumber;
}

// Passes may write this many entries past what they return: whole vectors are stored.
constexpr std::size_t kPassSlack = 64;

struct Bracket {
  std::uint32_t low = 0, high = 0;
};

struct BracketCount {
  std::size_t above = 0;   // Magnitudes over bracket.high.
  std::size_t inside = 0;  // Magnitudes from bracket.low to bracket.high.
};

// Counts, and copies the scores inside the bracket to `kept` (room for scores.size() + kPassSlack).
// `kept` may be the scores themselves: it is written behind where they are read.
BracketCount keep_inside(std::span<const float> scores, Bracket bracket, float* kept);

// Writes the indices of all magnitudes over `threshold` and of the first `ties` equal to it,
// ascending; returns how many. `out` has room for that and kPassSlack.
std::size_t write_indices(std::span<const float> scores, std::uint32_t threshold, std::size_t ties,
                          std::uint32_t* out);

bool increase_strictly(std::span<const std::uint32_t> values);

}  // namespace tessera
