// A net's first convolution in AMX's tiles: few input channels, whose inputs' gradient nobody
// needs. Rows are neighbouring pixels of one sample; the channels under a line of the kernel are
// one tile's depth.
#pragma once

#include <cstddef>

#include "learn/bf16.h"
#include "learn/conv_kernels.h"

namespace tessera::amx {

bool first_fits(const ConvShape& shape);

// Memory for one convolution, of batches as large as `largest` has them.
struct FirstSpace {
  explicit FirstSpace(const ConvShape& largest);

  Bf16s64 pixels;   // The samples: a line, a sample, pixels with all their channels.
  Bf16s64 planes;   // A line, a sample, a channel, pixels.
  Bf16s64 weights;  // Their rows in pairs.
  Bf16s64 taps;     // What lies under each number of a line of the kernel, as rows of tiles.
  Bf16s64 pairs;    // d_out, the pixels of each sample in pairs.
};

// out = in * weights + bias; `in` is as samples are, [batch][inputs][height][width]. Leaves in
// `space` what the other reads.
void convolve_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out, FirstSpace& space);
// d_weights, after convolve_first() of the same shape.
void convolve_first_weights(const ConvShape& shape, const float* d_out, float* d_weights,
                            FirstSpace& space);

}  // namespace tessera::amx
