// The kernels, as plain functions that start them on a stream. The nodes' models are the rows of
// one matrix, in working order (net.h), and a node is one more index of every loop. Images are
// [node][image][y][x][channel].
//
// Every sum has one order, whatever the GPU's blocks do when: no atomics, parts added by number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "learn/device.h"

namespace tessera::cuda {

using Precision = DeviceOptions::Precision;

// One pass over a minibatch of every node.
struct Pass {
  cudaStream_t stream = nullptr;
  int nodes = 0, batch = 0;
  const float* parameters = nullptr;
  std::size_t dimension = 0;  // Of a node's row.
  Precision precision = Precision::k3xF16;
  bool training = true;
};

// Samples or activations: image i of node n is row chosen[n * chosen_stride + i], or n * batch + i
// where none are chosen.
struct Rows {
  const float* data = nullptr;
  std::size_t width = 0;
  const std::uint32_t* chosen = nullptr;
  std::size_t chosen_stride = 0;
  // Images as pairs of halves too, four floats to a pixel (pairs.h); null: there are none.
  const float* pixel_pairs = nullptr;
  float pixel_unit = 1;
  const float* maxima = nullptr;  // The largest absolute number of every row; null: not known.

#if defined(__CUDACC__) || defined(TESSERA_CUDA_EMULATED)
  __device__ const float* row(int node, int batch, int i) const {
    const std::size_t at =
        chosen ? chosen[node * chosen_stride + i] : static_cast<std::size_t>(node) * batch + i;
    return data + at * width;
  }
#endif
};

// A convolution with a square kernel, padded by kernel / 2. Its weights are a matrix
// [rows()][outputs], rows in `segments` of `length`: one per tap, as long as there are channels;
// or, where channels are few or odd, one per row of the kernel, whose taps lie side by side in the
// image, filled up with zeros to a multiple of eight.
struct ConvShape {
  int height = 0, width = 0, inputs = 0, outputs = 0, kernel = 0, stride = 1;

  int out_height() const { return (height + stride - 1) / stride; }
  int out_width() const { return (width + stride - 1) / stride; }
  bool by_rows() const { return inputs % 16 != 0; }
  int segments() const { return by_rows() ? kernel : kernel * kernel; }
  int length() const { return by_rows() ? (kernel * inputs + 7) / 8 * 8 : inputs; }
  int rows() const { return segments() * length(); }
};

// out = in * weights + bias
void convolve(const Pass& pass, const ConvShape& shape, const Rows& in, std::size_t weights,
              std::size_t bias, float* out);
// The gradient of what went in.
void convolve_inputs(const Pass& pass, const ConvShape& shape, const float* d_out,
                     std::size_t weights, float* d_in);
// That of the weights, in weight_parts() parts of the batch: d_weights[node][part][rows][outputs].
int weight_parts(const ConvShape& shape, int batch);
void convolve_weights(const Pass& pass, const ConvShape& shape, const Rows& in, const float* d_out,
                      float* d_weights);

// What follows a convolution: group norm, ReLU, 2x2 max pooling, each of them or not.
struct AfterShape {
  int height = 0, width = 0, channels = 0;
  int groups = 0;  // 0: no norm.
  bool relu = false, pool = false;

  int out_pixels() const { return pool ? (height / 2) * (width / 2) : height * width; }
};
struct AfterMemory {
  float* x = nullptr;    // In; where it is trained, backward leaves dx there.
  float* out = nullptr;  // Pooled.
  std::uint8_t* winner =
      nullptr;               // Which of the window's pixels it is; 4: none, ReLU made it zero.
  float* moments = nullptr;  // [image][group][2]: mean, and one over the deviation.
  // The largest absolute number of every image, of what goes out and of dx; null: nobody asks.
  float *maxima = nullptr, *d_maxima = nullptr;
};
void after_convolution(const Pass& pass, const AfterShape& shape, const AfterMemory& memory,
                       std::size_t gamma, std::size_t beta);
// Sums of each image, [node][image][channels] each: gradients of gamma, beta and of the bias
// before.
struct AfterGradients {
  float* gamma = nullptr;
  float* beta = nullptr;
  float* bias = nullptr;
};
void after_convolution_gradient(const Pass& pass, const AfterShape& shape,
                                const AfterMemory& memory, std::size_t gamma, const float* d_out,
                                const AfterGradients& gradients);

struct LinearShape {
  int inputs = 0, outputs = 0;
  bool relu = false;
};
void linear(const Pass& pass, const LinearShape& shape, const Rows& in, std::size_t weights,
            std::size_t bias, float* out);
// Overwrites d_out where ReLU made zeros; d_in may be null. Gradients of one part: [node][...].
struct LinearGradients {
  float* weights = nullptr;
  float* bias = nullptr;
};
void linear_gradient(const Pass& pass, const LinearShape& shape, const Rows& in,
                     std::size_t weights, const float* out, float* d_out, float* d_in,
                     const LinearGradients& gradients);

// The mean over an image's pixels: [images][pixels][channels] to [images][channels], and back.
void mean_pool(const Pass& pass, int pixels, int channels, const float* in, float* out);
void mean_pool_gradient(const Pass& pass, int pixels, int channels, const float* d_out,
                        float* d_in);

// out = a + b, and ReLU; and the mask of that ReLU on its gradient.
void add_rows(const Pass& pass, std::size_t width, const float* a, const float* b, bool relu,
              float* out);
void mask_rows(const Pass& pass, std::size_t width, const float* out, float* d_out);
void copy_rows(const Pass& pass, std::size_t width, const float* from, float* to);

// Adds mean cross-entropy, or squared error where classes is 0, to each node's loss, and writes the
// gradient of the outputs. `weights` [node][batch]: one over the batch's size, or zero for what
// fills it up.
struct LossInputs {
  int classes = 0;
  const float* targets = nullptr;
  const std::uint32_t* chosen = nullptr;  // [node][batch]
  const float* weights = nullptr;
  float share = 1;  // Of this step in the round's loss.
};
void loss_and_gradient(const Pass& pass, const LossInputs& inputs, const float* outputs,
                       float* d_outputs, float* losses);

// learn/score.h's constants.
struct RatingScale {
  float lowest = 0, highest = 0, tolerance = 0;
};
// Adds a batch to the nodes' sums {loss, right, count}, sample after sample. Sample i of a node is
// left out when counted[node * stride + i] is zero.
struct ScoreInputs {
  int classes = 0;
  const float* targets = nullptr;
  const std::uint32_t* chosen = nullptr;
  const std::uint8_t* counted = nullptr;
  std::size_t chosen_stride = 0;
  RatingScale ratings{};
};
void add_scores(const Pass& pass, const ScoreInputs& inputs, const float* outputs, double* sums);

// to[row][i] = from[row][map[i]], or zero where map[i] is kNowhere.
constexpr std::uint32_t kNowhere = 0xffffffff;
void gather(cudaStream_t stream, int rows, const std::uint32_t* map, std::size_t from_width,
            const float* from, std::size_t to_width, float* to);

// Where a tensor's gradient lies: [node][part][size].
struct Gradient {
  std::size_t first = 0, size = 0;  // In working order.
  const float* parts = nullptr;
  int count = 1;
  std::size_t node_stride = 0, part_stride = 0;
};

}  // namespace tessera::cuda
