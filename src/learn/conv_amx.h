// The convolutions of conv_kernels.h in AMX's tiles (amx.h), their factors rounded to bf16: the
// same layouts, float32 on both sides. A tile's rows are neighbouring pixels of all samples, so
// images are copied with their border of zeros, which is multiplied like the rest.
//
//   convolution            rows = pixels and samples   depth = input channels
//   its inputs' gradient   the same of d_out, between whose pixels a stride leaves zeros
//   its weights' gradient  rows = input channels       depth = pixels and samples of a line
//
// For CPUs that has_amx() names.
#pragma once

#include <cstddef>

#include "learn/bf16.h"
#include "learn/conv_kernels.h"

namespace tessera::amx {

// Memory for one convolution, of batches as large as `largest` has them.
struct ConvSpace {
  explicit ConvSpace(const ConvShape& largest);

  Bf16s64 image;    // `in` or d_out with a border left and right.
  Bf16s64 weights;  // Their rows in pairs.
  Bf16s64 lines;    // `in`: a line, a channel, pixels and samples.
  Bf16s64 pairs;    // d_out, its pixels and samples in pairs.
};

void convolve(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out, ConvSpace& space);
void convolve_weights(const ConvShape& shape, const float* in, const float* d_out, float* d_weights,
                      ConvSpace& space);
void convolve_inputs(const ConvShape& shape, const float* d_out, const float* turned, float* d_in,
                     ConvSpace& space);

}  // namespace tessera::amx
