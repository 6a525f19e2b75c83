#include "codec/sample_data.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/share.h"

namespace tessera {

Indices random_indices(double density, std::uint32_t dimension, Random random) {
  return draw_indices({.seed = random.bits64(), .threshold = threshold_of(density)}, dimension);
}

Indices clustered_indices(double density, std::uint32_t dimension, Random random) {
  constexpr double kInside = 0.55, kBurst = 16;
  const double outside = density / 3;
  // The share of coordinates in bursts that makes the density come out right, and the mean length
  // of the stretches between them that makes that share.
  const double bursts = (density - outside) / (kInside - outside);
  const double pause = kBurst * (1 - bursts) / bursts;
  Indices indices;
  bool inside = false;
  for (std::uint32_t i = 0; i < dimension; ++i) {
    if (random.uniform() < 1 / (inside ? kBurst : pause)) inside = !inside;
    if (random.uniform() < (inside ? kInside : outside)) indices.push_back(i);
  }
  return indices;
}

Vector weight_like_values(std::size_t count, Random random) {
  Vector values(count);
  double scale = 0;
  for (std::size_t i = 0, stretch_end = 0; i < count; ++i) {
    if (i == stretch_end) {
      stretch_end += 1 + random.below(20'000);
      scale = std::exp2(-9 + 5 * random.uniform());
    }
    values[i] = static_cast<float>(scale * random.normal());
  }
  return values;
}

Vector random_bit_patterns(std::size_t count, Random random) {
  Vector values(count);
  for (float& value : values) value = std::bit_cast<float>(random.bits());
  return values;
}

}  // namespace tessera
