// Winograd's F(4x4, 5x5) (winograd.h) for the first layer of a net, which has a few inputs and
// whose inputs' gradient nobody needs. There is little to multiply at a point then, and what the
// points hold is large: so the products of a tile are made in registers on their way to the output
// transform, and back.
#pragma once

#include "learn/conv_kernels.h"
#include "learn/floats.h"

namespace tessera {

bool winograd_first_fits(const ConvShape& shape);

// Memory for one convolution, of batches as large as `largest` has them.
struct WinogradFirstSpace {
  explicit WinogradFirstSpace(const ConvShape& largest);

  Floats64 images;   // The samples as winograd_first() reads them.
  Floats64 weights;  // At the points, or their gradient.
  Floats64 in;       // At the points, tile by tile.
  Floats64 zeros;    // Read where a tile leaves the image.
  Floats64 nowhere;  // Written there.
};

// out = in * weights + bias; `in` is as samples are, [batch][inputs][height][width]. Leaves in
// `space` what the other reads.
void winograd_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out, WinogradFirstSpace& space);
// d_weights, after winograd_first() of the same shape.
void winograd_first_weights(const ConvShape& shape, const float* d_out, float* d_weights,
                            WinogradFirstSpace& space);

}  // namespace tessera
