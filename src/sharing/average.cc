#include "sharing/average.h"

#include <fmt/format.h>

#include "base/check.h"
#include "math/vector_ops.h"

namespace tessera {

void average_filling_gaps(std::span<float> x, std::span<const Contribution> others) {
  if (others.empty()) return;
  Vector change(x.size(), 0.0f);
  for (const Contribution& other : others) {
    const Share& share = *other.share;
    if (const auto* listed = std::get_if<Listed>(&share.coordinates))
      add_pull_at(change, other.weight, listed->indices, share.values, x);
    else
      add_pull(change, other.weight, share.values, x);
  }
  add(x, change);
}

void average_present(std::span<float> x, std::span<const Contribution> others) {
  if (others.empty()) return;
  Indices copies(x.size(), 1);
  for (const Contribution& other : others) {
    const Share& share = *other.share;
    if (const auto* listed = std::get_if<Listed>(&share.coordinates)) {
      add_at(x, copies, listed->indices, share.values);
    } else {
      add(x, share.values);
      for (std::uint32_t& count : copies) ++count;
    }
  }
  divide_by_copies(x, copies);
}

Result<void> admit_for_averaging(Share& share, std::uint32_t dimension) {
  if (share.dimension != dimension)
    return Error{
        "dimension",
        fmt::format("a share of {} coordinates reached a model of {}: peers must run the same "
                    "model and transform",
                    share.dimension, dimension)};
  if (const auto* drawn = std::get_if<Drawn>(&share.coordinates))
    share.coordinates = Listed{draw_indices(*drawn, dimension)};
  if (std::holds_alternative<Fragment>(share.coordinates))
    return Error{"coordinates", "a fragment reached a node whose sharing has none"};
  const auto* listed = std::get_if<Listed>(&share.coordinates);
  const std::size_t expected = listed ? listed->indices.size() : dimension;
  if (share.values.size() != expected)
    return Error{"count",
                 fmt::format("{} values came for {} coordinates", share.values.size(), expected)};
  return {};
}

}  // namespace tessera
