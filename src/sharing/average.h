// What the sharings that average have in common: which shares they take, and how those reach the
// rule.
#pragma once

#include <span>

#include "base/result.h"
#include "sharing/rule.h"
#include "sharing/sharing.h"

namespace tessera {

// The rule a run asks for, or the one the sharing names where it asks for none.
std::shared_ptr<const Rule> rule_or(const SharingContext& context, std::string_view fallback);

// Folds in shares that admit_for_averaging has seen.
void average(const Rule& rule, std::span<float> x, std::span<const Contribution> others);

// The share with its coordinates written out as Everything or Listed, as the rules need them: a
// mask is drawn and replaced by its indices. Refuses another dimension, fragments, and more or
// fewer values than coordinates.
Result<HeardShare> admit_for_averaging(HeardShare share, std::uint32_t dimension);

// The values of a vector at coordinates that are no fragment's.
Vector values_at(std::span<const float> vector, const Coordinates& coordinates);

}  // namespace tessera
