// Convolutions that tests try: their shapes and operands.
#pragma once

#include <utility>

#include "learn/bf16.h"
#include "learn/conv_kernels.h"
#include "learn/testing.h"

namespace tessera::testing {

// Parts of tiles, odd batches, small images, strides.
inline const ConvShape kConvShapes[] = {{8, 8, 8, 32, 64, 5},    {5, 7, 3, 16, 16, 5},
                                        {1, 2, 1, 16, 48, 5},    {6, 6, 11, 32, 32, 3},
                                        {4, 4, 9, 16, 32, 1},    {9, 9, 8, 16, 32, 3, 2},
                                        {8, 5, 3, 32, 16, 1, 2}, {7, 8, 2, 16, 16, 5, 3}};

inline Vector rounded_to_bf16(Vector values) {
  for (float& value : values) value = plain::from_bf16(plain::to_bf16(value));
  return values;
}

struct ConvOperands {
  Vector in, weights, turned, bias, d_out;
  explicit ConvOperands(const ConvShape& s)
      : in(normals(s.pixels() * s.batch * s.inputs, Random(1))),
        weights(normals(s.weights(), Random(2))),
        turned(weights.size()),
        bias(normals(s.outputs, Random(3))),
        d_out(normals(s.out_pixels() * s.batch * s.outputs, Random(4))) {
    turn_weights(s, weights.data(), turned.data());
  }
};

// [height][width][batch][channels] as samples are, [batch][channels][height][width].
inline Vector as_samples(const ConvShape& s, const Vector& in) {
  Vector samples(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t channel = i % s.inputs, sample = i / s.inputs % s.batch;
    samples[(sample * s.inputs + channel) * s.pixels() + i / s.inputs / s.batch] = in[i];
  }
  return samples;
}

}  // namespace tessera::testing
