// Convolutions and linear layers for one node on one CPU thread, forward and backward. All of them
// are one matrix product (GEMM) without im2col's copy of the image: a tile of 8 rows by two vectors
// of sums stays in registers while
//
//   sum[row][column] += a[row, k] * b[k, column]
//
// runs over k. What differs is where a and b live:
//
//   convolution            row = sample        k = input channel       column = output channel
//   its weights' gradient  row = input channel k = pixel and sample    column = output channel
//
// Activations are laid out [height][width][batch][channels]: at one pixel all samples of the batch
// are neighbours, so a tile's rows are samples, every row has the same border, and taps that fall
// on the zero padding are skipped instead of multiplied (28% of a 5x5 convolution on 8x8 pixels).
// Weights are laid out [kernel][kernel][inputs][outputs]. Each sum is taken in the order of k with
// fused multiply-adds whatever the vector width, so CPUs that have them agree to the bit.
#pragma once

#include <cstddef>

namespace tessera {

// A convolution with an odd square kernel and zero padding kernel / 2.
struct ConvShape {
  std::size_t height = 0, width = 0, batch = 0;
  std::size_t inputs = 0, outputs = 0;  // `outputs` must be a multiple of 16.
  std::size_t kernel = 0, stride = 1;

  std::size_t pixels() const { return height * width; }
  std::size_t out_height() const { return (height + stride - 1) / stride; }
  std::size_t out_width() const { return (width + stride - 1) / stride; }
  std::size_t out_pixels() const { return out_height() * out_width(); }
  std::size_t weights() const { return kernel * kernel * inputs * outputs; }
};

// out = in * weights + bias. `bias` may be null.
void convolve(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out);
// d_weights = the gradient with respect to the weights. `inputs` must be a multiple of 16 here.
void convolve_weights(const ConvShape& shape, const float* in, const float* d_out,
                      float* d_weights);
// The weights convolve_inputs() reads: turned by 180 degrees, inputs and outputs swapped, so that
// with stride 1 the gradient with respect to `in` is convolve(d_out).
void turn_weights(const ConvShape& shape, const float* weights, float* turned);
// d_in = the gradient with respect to `in`. `inputs` must be a multiple of 16 here.
void convolve_inputs(const ConvShape& shape, const float* d_out, const float* turned, float* d_in);

// The first two for a net's first layer of stride 1, whose few input channels would leave most of a
// tile empty: rows are neighbouring pixels of one sample, and `in` is laid out
// [height][batch][padded width][inputs], zeros written at both ends of each line.
void convolve_first(const ConvShape& shape, const float* in, const float* weights,
                    const float* bias, float* out);
void convolve_first_weights(const ConvShape& shape, const float* in, const float* d_out,
                            float* d_weights);

// A linear layer in PyTorch's own layout: weights [outputs][inputs], samples by rows.
struct LinearShape {
  std::size_t batch = 0, inputs = 0, outputs = 0;
};
void linear(const LinearShape& shape, const float* in, const float* weights, const float* bias,
            float* out);
// Both ways back are for a range of the outputs: what those add to d_in, which the first range
// sets, and the gradient of their weights, written from d_weights on.
struct OutputRange {
  std::size_t first = 0, count = 0;
};
void linear_inputs(const LinearShape& shape, const float* d_out, const float* weights,
                   OutputRange range, float* d_in);
void linear_weights(const LinearShape& shape, const float* in, const float* d_out,
                    OutputRange range, float* d_weights);

// The plain loops the fast versions are held to.
namespace plain {
void turn_weights(const ConvShape& shape, const float* weights, float* turned);
void convolve(const ConvShape& shape, const float* in, const float* weights, const float* bias,
              float* out);
void convolve_weights(const ConvShape& shape, const float* in, const float* d_out,
                      float* d_weights);
// From the weights as they are.
void convolve_inputs(const ConvShape& shape, const float* d_out, const float* weights, float* d_in);
void linear(const LinearShape& shape, const float* in, const float* weights, const float* bias,
            float* out);
}  // namespace plain

}  // namespace tessera
