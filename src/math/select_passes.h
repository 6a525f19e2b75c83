// The passes over all scores that selection spends its time in, and one over what it chose.
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

// What is ranked: numbers, or by how much numbers differ from others, which is nowhere written
// down.
struct Scores {
  std::span<const float> numbers{};
  std::span<const float> others{};  // As many, or none.

  std::size_t size() const { return numbers.size(); }
  float operator[](std::size_t i) const {
    return others.empty() ? numbers[i] : numbers[i] - others[i];
  }
};

struct Bracket {
  std::uint32_t low = 0, high = kNotANumber;
};

struct BracketCount {
  std::size_t above = 0;   // Magnitudes over bracket.high.
  std::size_t inside = 0;  // Magnitudes from bracket.low to bracket.high.
};

// Counts, and copies the scores inside the bracket to `kept` (room for scores.size() + kPassSlack).
// `kept` may be the numbers themselves: it is written behind where they are read.
BracketCount keep_inside(const Scores& scores, Bracket bracket, float* kept);

// The magnitudes over a threshold, and the first `ties` equal to it.
struct Largest {
  std::uint32_t threshold = 0;
  std::size_t ties = 0;
};

// Writes their indices, ascending; returns how many. `out` has room for that and kPassSlack.
std::size_t write_indices(const Scores& scores, Largest largest, std::uint32_t* out);

// The same where the scores are by how much `now` differs from `told`. Writes `next` over `told` at
// those places.
std::size_t take_changes(std::span<const float> now, std::span<float> told,
                         std::span<const float> next, Largest largest, std::uint32_t* indices);

bool increase_strictly(std::span<const std::uint32_t> values);

}  // namespace tessera
