// The references of conv_kernels.h: the formulas as loops.
#include "learn/conv_kernels.h"

namespace tessera {
namespace {

// Calls body(output pixel, tap, input pixel) for every tap that falls inside the image.
template <typename Body>
void for_taps(const ConvShape& s, Body body) {
  const std::size_t pad = s.kernel / 2;
  for (std::size_t out = 0; out < s.out_pixels(); ++out) {
    const std::size_t y = out / s.out_width() * s.stride, x = out % s.out_width() * s.stride;
    for (std::size_t ky = 0; ky < s.kernel; ++ky)
      for (std::size_t kx = 0; kx < s.kernel; ++kx) {
        const bool inside =
            y + ky >= pad && y + ky < s.height + pad && x + kx >= pad && x + kx < s.width + pad;
        if (inside) body(out, ky * s.kernel + kx, (y + ky - pad) * s.width + x + kx - pad);
      }
  }
}

}  // namespace

namespace plain {

void turn_weights(const ConvShape& s, const float* weights, float* turned) {
  const std::size_t taps = s.kernel * s.kernel;
  for (std::size_t tap = 0; tap < taps; ++tap)
    for (std::size_t input = 0; input < s.inputs; ++input)
      for (std::size_t output = 0; output < s.outputs; ++output)
        turned[((taps - 1 - tap) * s.outputs + output) * s.inputs + input] =
            weights[(tap * s.inputs + input) * s.outputs + output];
}

void convolve(const ConvShape& s, const float* in, const float* weights, const float* bias,
              float* out) {
  for (std::size_t i = 0; i < s.out_pixels() * s.batch * s.outputs; ++i)
    out[i] = bias ? bias[i % s.outputs] : 0.0f;
  for_taps(s, [&](std::size_t pixel, std::size_t tap, std::size_t from) {
    for (std::size_t n = 0; n < s.batch; ++n)
      for (std::size_t c = 0; c < s.inputs; ++c)
        for (std::size_t o = 0; o < s.outputs; ++o)
          out[(pixel * s.batch + n) * s.outputs + o] +=
              in[(from * s.batch + n) * s.inputs + c] *
              weights[(tap * s.inputs + c) * s.outputs + o];
  });
}

void convolve_weights(const ConvShape& s, const float* in, const float* d_out, float* d_weights) {
  for (std::size_t i = 0; i < s.weights(); ++i) d_weights[i] = 0;
  for_taps(s, [&](std::size_t pixel, std::size_t tap, std::size_t from) {
    for (std::size_t n = 0; n < s.batch; ++n)
      for (std::size_t c = 0; c < s.inputs; ++c)
        for (std::size_t o = 0; o < s.outputs; ++o)
          d_weights[(tap * s.inputs + c) * s.outputs + o] +=
              in[(from * s.batch + n) * s.inputs + c] *
              d_out[(pixel * s.batch + n) * s.outputs + o];
  });
}

void convolve_inputs(const ConvShape& s, const float* d_out, const float* weights, float* d_in) {
  for (std::size_t i = 0; i < s.pixels() * s.batch * s.inputs; ++i) d_in[i] = 0;
  for_taps(s, [&](std::size_t pixel, std::size_t tap, std::size_t from) {
    for (std::size_t n = 0; n < s.batch; ++n)
      for (std::size_t c = 0; c < s.inputs; ++c)
        for (std::size_t o = 0; o < s.outputs; ++o)
          d_in[(from * s.batch + n) * s.inputs + c] +=
              weights[(tap * s.inputs + c) * s.outputs + o] *
              d_out[(pixel * s.batch + n) * s.outputs + o];
  });
}

void linear(const LinearShape& s, const float* in, const float* weights, const float* bias,
            float* out) {
  for (std::size_t n = 0; n < s.batch; ++n)
    for (std::size_t o = 0; o < s.outputs; ++o) {
      float sum = bias[o];
      for (std::size_t i = 0; i < s.inputs; ++i)
        sum += in[n * s.inputs + i] * weights[o * s.inputs + i];
      out[n * s.outputs + o] = sum;
    }
}

}  // namespace plain
}  // namespace tessera
