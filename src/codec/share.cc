#include "codec/share.h"

#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace tessera {

std::uint32_t threshold_of(double fraction) {
  CHECK(fraction >= 0);
  CHECK(fraction < 1);
  return static_cast<std::uint32_t>(std::min(std::round(fraction * 0x1p32), 0x1p32 - 1));
}

Indices draw_indices(const Drawn& drawn, std::uint32_t dimension) {
  Indices indices;
  // Ten standard deviations above the mean: as good as never grown.
  const double expected = dimension * (drawn.threshold * 0x1p-32);
  indices.reserve(static_cast<std::size_t>(
      std::min<double>(dimension, expected + 10 * std::sqrt(expected) + 10)));
  Random random(drawn.seed);
  for (std::uint32_t i = 0; i < dimension; ++i)
    if (random.bits() < drawn.threshold) indices.push_back(i);
  return indices;
}

}  // namespace tessera
