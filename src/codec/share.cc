#include "codec/share.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "codec/index_codec.h"
#include "codec/splitmix.h"

namespace tessera {

void Share::fields(Archive& archive) {
  archive(dimension, coordinates, values);
  archive.require(is_valid(*this), "a saved share does not hold together");
}

const Indices* listed_in(const Coordinates& coordinates) {
  if (const auto* listed = std::get_if<Listed>(&coordinates)) return &listed->indices;
  if (const auto* changes = std::get_if<Changes>(&coordinates)) return &changes->indices;
  return nullptr;
}

bool is_valid(const Share& share) {
  const std::size_t count = share.values.size();
  if (count > share.dimension) return false;
  if (const Indices* indices = listed_in(share.coordinates))
    return indices->size() == count && is_valid(IndexSet{*indices, share.dimension});
  if (const auto* fragment = std::get_if<Fragment>(&share.coordinates))
    return fragment->id < fragment->count;
  return std::holds_alternative<Drawn>(share.coordinates) || count == share.dimension;
}

std::uint32_t threshold_of(double fraction) {
  CHECK(fraction >= 0);
  CHECK(fraction < 1);
  return static_cast<std::uint32_t>(std::min(std::round(fraction * 0x1p32), 0x1p32 - 1));
}

Indices draw_indices(const Drawn& drawn, std::uint32_t dimension) {
  // Ten standard deviations above the mean and a place to spare: as good as never too small.
  const double expected = dimension * (drawn.threshold * 0x1p-32);
  const double room = std::min<double>(dimension, expected + 10 * std::sqrt(expected) + 10) + 1;
  Indices indices(static_cast<std::size_t>(room));
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < dimension; ++i) {
    if (count + 1 == indices.size()) indices.resize(2 * indices.size());
    // Written in any case and kept if it counts: a branch would be mispredicted every third time.
    indices[count] = i;
    count += splitmix64(drawn.seed, i) >> 32 < drawn.threshold ? 1 : 0;
  }
  indices.resize(count);
  return indices;
}

}  // namespace tessera
