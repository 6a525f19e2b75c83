// The small numbers every folder above speaks of.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

using NodeId = std::uint32_t;
using Round =
    std::uint32_t;  // A turn of a synchronous protocol; a training of an asynchronous one.
using Vector = std::vector<float>;  // A model, its wavelet coefficients, or some of their values.
using Indices = std::vector<std::uint32_t>;

}  // namespace tessera
