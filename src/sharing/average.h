// The two averaging rules. Which one is right depends on what silence means.
#pragma once

#include <span>

#include "base/result.h"
#include "sharing/sharing.h"

namespace tessera {

// x <- x + sum_j w_j (share_j - x) over the coordinates each share carries: a coordinate a peer did
// not send counts as the receiver's own. Every share is compared with x as it was before any was
// folded in; sums run in the order given. Work is proportional to what arrived, plus one pass.
void average_filling_gaps(std::span<float> x, std::span<const Contribution> others);

// Each coordinate becomes the mean of the copies present, own copy included, whatever the weights:
// the rule for fragments, where silence says nothing.
void average_present(std::span<float> x, std::span<const Contribution> others);

// What both rules demand: coordinates written out as Everything or Listed, as many values as
// coordinates, indices below the dimension. A mask is drawn and replaced by its indices.
Result<void> admit_for_averaging(Share& share, std::uint32_t dimension);

}  // namespace tessera
