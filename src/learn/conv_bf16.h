// The convolutions of conv_kernels.h with their factors rounded to bf16 (bf16.h): the same layouts,
// float32 on both sides, one more argument with room for the rounded factors. For CPUs that
// has_bf16() names.
#pragma once

#include <cstddef>
#include <vector>

#include "learn/bf16.h"
#include "learn/conv_kernels.h"

namespace tessera::bf16 {

// Memory for one convolution, of batches as large as `largest` has them.
struct ConvSpace {
  ConvSpace(const ConvShape& largest, bool first);

  Bf16s64 rows;     // `in` or d_out, its channels in pairs.
  Bf16s64 weights;  // Their rows in pairs.
  Bf16s64 samples;  // `in`, its samples in pairs.
  Bf16s64 line;     // Of d_out, its samples in pairs.
  struct Source {
    std::size_t pixel = 0, tap = 0;
  };
  std::vector<Source> sources;  // What one pixel is made from.
};

void convolve(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out, ConvSpace& space);
void convolve_weights(const ConvShape& shape, const float* in, const float* d_out, float* d_weights,
                      ConvSpace& space);
void convolve_inputs(const ConvShape& shape, const float* d_out, const float* turned, float* d_in,
                     ConvSpace& space);
void convolve_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out, ConvSpace& space);
void convolve_first_weights(const ConvShape& shape, const float* in, const float* d_out,
                            float* d_weights, ConvSpace& space);

}  // namespace tessera::bf16
