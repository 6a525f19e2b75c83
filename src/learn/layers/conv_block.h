// A fused stage of a convolutional net on the CPU: convolution, group norm if there is one, ReLU
// and 2x2 max pooling, or pooling and then ReLU: both being monotone they commute, and so do their
// gradients.
//
//   x = in * w + b      y = scale x + shift (norm_columns.h)      pooled = maxpool(relu(y))
//
// dy is zero except where a pixel won its pool, so the sums the norm's gradient needs come from the
// pooled quarter alone, and dx is one more pass over x.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "learn/layers/cpu_layer.h"

namespace tessera {

// How many layers at the front make a block; none: 0.
std::size_t conv_block_length(std::span<const Layer> layers, bool first);
// Of those layers, the first of which stands at `place`.
std::unique_ptr<CpuLayer> make_conv_block(std::span<const Layer> layers, const CpuPlace& place);

}  // namespace tessera
