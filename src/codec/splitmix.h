// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), asked
// for any position at once. Masks that travel as a seed are drawn with it rather than with Random:
// it is part of the wire format, which a second implementation should have in five lines, and costs
// a fraction of a word of Philox. Seeds come from forks of Random like all others.
#pragma once

#include <cstdint>

namespace tessera {

// Output number `position` (from 0) of the generator seeded with `seed`. For any one position it is
// a bijection of the seed: uniform when the seed is.
constexpr std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace tessera
