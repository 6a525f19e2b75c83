// Messages to test and measure codecs on. Codecs that look alike on noise differ on what nodes
// really send, so both kinds are here: positions at random, and positions and values with the
// statistics seen in JWINS runs, where indices cluster and every layer has a scale of its own.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/random.h"

namespace tessera {

// Each coordinate with chance `density`.
Indices random_indices(double density, std::uint32_t dimension, Random random);

// The same density in bursts of about 16 coordinates of which every other one is in. At a tenth,
// gamma codes take about 4.1 bits per index and Rice codes 4.9; real messages had 3.95 and 4.9.
Indices clustered_indices(double density, std::uint32_t dimension, Random random);

// Normal, with standard deviations between 2^-9 and 2^-4 that change every few thousand values.
Vector weight_like_values(std::size_t count, Random random);

// Every bit pattern equally likely: NaNs, infinities and denormals too.
Vector random_bit_patterns(std::size_t count, Random random);

}  // namespace tessera
