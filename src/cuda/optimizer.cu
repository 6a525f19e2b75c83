// Kernels of optimizer_kernels.h. Sums over a node's gradient go by threads, blocks and pieces, in
// the order of their numbers.
#include "cuda/launch.cuh"
#include "cuda/optimizer_kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;

// Four numbers of a piece's gradient, its parts added up. Where a tensor ends, some of them are no
// numbers of it, and zero. Loops over them have constant bounds, so that they stay in registers.
struct FourOf {
  std::size_t first;
  int count;
  float d[4] = {};

  __device__ explicit FourOf(const Gradient& gradient)
      : first(4 * threadIdx.x),
        count(first < gradient.size ? static_cast<int>(min(gradient.size - first, std::size_t{4}))
                                    : 0) {
    const float* const parts = gradient.parts + blockIdx.y * gradient.node_stride + first;
    const bool whole = gradient.part_stride % 4 == 0 && count == 4;
    for (int part = 0; whole && part < gradient.count; ++part) {
      const float4 four = *reinterpret_cast<const float4*>(parts + part * gradient.part_stride);
      d[0] += four.x;
      d[1] += four.y;
      d[2] += four.z;
      d[3] += four.w;
    }
    if (whole) return;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      for (int part = 0; i < count && part < gradient.count; ++part)
        d[i] += parts[part * gradient.part_stride + i];
  }
};

// The sum of what all threads have, for thread 0.
__device__ double sum_of_block(double own) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

__global__ void squares_kernel(const Gradient* gradients, double* squares) {
  const FourOf own(gradients[blockIdx.x]);
  double sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(own.d[i]) * static_cast<double>(own.d[i]);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    squares[static_cast<std::size_t>(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

__global__ void scales_kernel(float clip, int pieces, const double* squares, float* scales) {
  constexpr double kNoDivisionByZero = 1e-6;  // As learn/optimizer.cc has it.
  double sum = 0;
  for (int i = threadIdx.x; i < pieces; i += kThreads)
    sum += squares[static_cast<std::size_t>(blockIdx.x) * pieces + i];
  sum = sum_of_block(sum);
  const double scale = static_cast<double>(clip) / (sqrt(sum) + kNoDivisionByZero);
  if (threadIdx.x == 0) scales[blockIdx.x] = static_cast<float>(scale < 1 ? scale : 1.0);
}

__device__ float descended(const Descent& descent, float lr, float d, float w, float* velocity) {
  if (descent.weight_decay != 0) d = fmaf(descent.weight_decay, w, d);
  if (descent.momentum != 0) {
    const float v = *velocity = fmaf(descent.momentum, *velocity, d);
    d = descent.nesterov ? fmaf(descent.momentum, v, d) : v;
  }
  return w - lr * d;
}

__device__ float adapted(const Descent& descent, const StepRates& rates, float d, float w,
                         float* first, float* second) {
  d = fmaf(descent.weight_decay, w, d);
  const float m = *first = descent.beta1 * *first + descent.rest1 * d;
  const float s = *second = descent.beta2 * *second + descent.rest2 * (d * d);
  return rates.kept * w - rates.adam * (m / (sqrtf(s) / rates.root + descent.epsilon));
}

__global__ void descend_kernel(Descent descent, const Gradient* gradients, const float* scales,
                               std::size_t dimension, float* parameters, MomentRows moments) {
  const Gradient gradient = gradients[blockIdx.x];
  const StepRates rates = descent.rates[blockIdx.y];
  const float scale = scales ? scales[blockIdx.y] : 1;
  const FourOf own(gradient);
  const std::size_t first = blockIdx.y * dimension + gradient.first + own.first;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i >= own.count) break;
    const std::size_t at = first + i;
    const float d = scale * own.d[i];
    parameters[at] =
        descent.adam
            ? adapted(descent, rates, d, parameters[at], moments.first + at, moments.second + at)
            : descended(descent, rates.lr, d, parameters[at], moments.first + at);
  }
}

__global__ void move_images_kernel(ImageShape shape, Rows in, const ImageMove* moves, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x, sample = blockIdx.y, node = blockIdx.z;
  const int batch = gridDim.y, numbers = shape.height * shape.width * shape.channels;
  if (i >= numbers) return;
  const std::size_t image = static_cast<std::size_t>(node) * batch + sample;
  const ImageMove move = moves[image];
  const int c = i % shape.channels, x = i / shape.channels % shape.width;
  const int from_y = i / shape.channels / shape.width + move.down;
  const int from_x = (move.flipped ? shape.width - 1 - x : x) + move.right;
  const bool inside = from_y >= 0 && from_y < shape.height && from_x >= 0 && from_x < shape.width;
  out[image * numbers + i] =
      inside ? in.row(node, batch, sample)[(from_y * shape.width + from_x) * shape.channels + c]
             : 0;
}

}  // namespace

void clip_scales(const Pass& pass, float clip, const GradientList& gradients, double* squares,
                 float* scales) {
  launch(squares_kernel, dim3(gradients.count, pass.nodes), kThreads, 0, pass.stream,
         gradients.pieces, squares);
  launch(scales_kernel, dim3(pass.nodes), kThreads, 0, pass.stream, clip, gradients.count,
         static_cast<const double*>(squares), scales);
}

void descend(const Pass& pass, const Descent& descent, const GradientList& gradients,
             const float* scales, float* parameters, const MomentRows& moments) {
  static_assert(kDescentPiece == 4 * kThreads);
  launch(descend_kernel, dim3(gradients.count, pass.nodes), kThreads, 0, pass.stream, descent,
         gradients.pieces, scales, pass.dimension, parameters, moments);
}

void move_images(const Pass& pass, const ImageShape& shape, const Rows& in, const ImageMove* moves,
                 float* out) {
  const auto numbers = static_cast<std::size_t>(shape.height) * shape.width * shape.channels;
  launch(move_images_kernel, dim3(blocks_for(numbers, kThreads), pass.batch, pass.nodes), kThreads,
         0, pass.stream, shape, in, moves, out);
}

}  // namespace tessera::cuda
