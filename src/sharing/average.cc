#include "sharing/average.h"

#include <fmt/format.h>

#include <vector>

#include "base/check.h"

namespace tessera {

std::shared_ptr<const Rule> rule_or(const SharingContext& context, std::string_view fallback) {
  return context.rule ? context.rule : make_rule(fallback);
}

void average(const Rule& rule, std::span<float> x, std::span<const Contribution> others) {
  std::vector<Copy> copies;
  copies.reserve(others.size());
  for (const Contribution& other : others) {
    Copy& copy = copies.emplace_back(Copy{.weight = other.weight, .values = other.share->values});
    const Indices* indices = listed_in(other.share->coordinates);
    copy.everything = indices == nullptr;
    if (indices) copy.indices = *indices;
  }
  rule.average(x, copies);
}

Result<HeardShare> admit_for_averaging(HeardShare share, std::uint32_t dimension) {
  if (share->dimension != dimension)
    return Error{
        "dimension",
        fmt::format("a share of {} coordinates reached a model of {}: peers must run the same "
                    "model and transform",
                    share->dimension, dimension)};
  if (const auto* drawn = std::get_if<Drawn>(&share->coordinates))
    share = std::make_shared<const Share>(
        Share{share->dimension, Listed{draw_indices(*drawn, dimension)}, share->values});
  if (std::holds_alternative<Fragment>(share->coordinates))
    return Error{"coordinates", "a fragment reached a node whose sharing has none"};
  if (std::holds_alternative<Changes>(share->coordinates))
    return Error{"coordinates", "changes reached a node whose sharing keeps no copies"};
  const Indices* indices = listed_in(share->coordinates);
  const std::size_t expected = indices ? indices->size() : dimension;
  if (share->values.size() != expected)
    return Error{"count",
                 fmt::format("{} values came for {} coordinates", share->values.size(), expected)};
  return share;
}

Vector values_at(std::span<const float> vector, const Coordinates& coordinates) {
  CHECK(!std::holds_alternative<Fragment>(coordinates));
  if (std::holds_alternative<Everything>(coordinates)) return {vector.begin(), vector.end()};
  const auto* const drawn = std::get_if<Drawn>(&coordinates);
  const Indices indices = drawn ? draw_indices(*drawn, static_cast<std::uint32_t>(vector.size()))
                                : *listed_in(coordinates);
  Vector values;
  values.reserve(indices.size());
  for (const std::uint32_t i : indices) values.push_back(vector[i]);
  return values;
}

}  // namespace tessera
