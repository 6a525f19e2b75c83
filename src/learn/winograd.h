// Convolutions with a 5x5 kernel and stride 1 in fewer multiplications: Winograd's F(4x4, 5x5). A
// tile of 8x8 inputs gives 4x4 outputs,
//
//   Y = At ((G w Gt) * (Bt x B)) A
//
// where * multiplies number by number: 64 products where the formula has 400. At, Bt and G evaluate
// polynomials at 0, +-1, +-2, +-1/2 and infinity; between them, the products of all channels at one
// of the 64 points are one matrix product. The way back is the adjoint of each step, so it shares
// what the way there has made:
//
//   dw = Gt ((A dY At) * (Bt x B)) G       dx = B ((A dY At) * (G w Gt)) Bt, added up over tiles
//
// Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016. Layouts are those
// of conv_kernels.h. Every sum has one order whatever the vector width, so CPUs with fused
// multiply-adds agree to the bit. Its rounding differs from convolve()'s: winograd_test.cc holds it
// to a small multiple of that one's error. On request the matrix products' factors are rounded to
// bf16 (bf16.h); the transforms stay float32.
#pragma once

#include <cstddef>

#include "learn/bf16.h"
#include "learn/conv_kernels.h"
#include "learn/floats.h"

namespace tessera {

bool winograd_fits(const ConvShape& shape);

// Memory for one convolution, of batches as large as `largest` has them.
struct WinogradSpace {
  explicit WinogradSpace(const ConvShape& largest, bool bf16 = false);

  Floats64 weights;             // At the points, or their gradient.
  Floats64 in, d_out;           // At the points, tile by tile.
  Floats64 block;               // What the products of a few tiles give.
  Floats64 bias;                // For every sample.
  Floats64 zeros;               // Read where a tile leaves the image.
  Floats64 nowhere;             // Written there.
  bool in_bf16 = false;         // The factors of the products are rounded, to:
  Bf16s64 paired;               // The weights at the points.
  Bf16s64 rounded;              // A block at one point.
  Bf16s64 kept_in, kept_d_out;  // All blocks, their rows in pairs.
};

// out = in * weights + bias; leaves in `space` what winograd_backward() reads.
void winograd(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out, WinogradSpace& space);
// d_weights and, unless it is null, d_in, after winograd() of the same shape. `turned` as
// turn_weights() makes them; not read if there is no d_in.
void winograd_backward(const ConvShape& shape, const float* d_out, const float* turned,
                       float* d_weights, float* d_in, WinogradSpace& space);

}  // namespace tessera
