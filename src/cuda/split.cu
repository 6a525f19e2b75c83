// Numbers into pairs of halves (pairs.cuh). A block takes an image or a piece of a node's weights;
// a thread four numbers at a time. The numbers of a group are read and written by threads of one
// warp, so that pairs may take the place of the floats they were made of.
#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"
#include "cuda/pairs.h"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256, kWeightThreads = 1024;
constexpr std::size_t kPiece = 16 * kWeightThreads;  // Of a node's weights: whole groups.
__device__ float largest_in(const float* from, std::size_t width) {
  float largest = 0;
  for (std::size_t quad = threadIdx.x; quad < width / 4; quad += blockDim.x)
    largest = fmaxf(largest, largest_of(reinterpret_cast<const float4*>(from)[quad]));
  return block_max(largest);
}

__device__ void split_all(const float* from, std::size_t width, int group, float up, half* to) {
  for (std::size_t first = 0; first < width / 4; first += blockDim.x) {
    const std::size_t quad = first + threadIdx.x;
    const bool there = quad < width / 4;
    const float4 x = there ? reinterpret_cast<const float4*>(from)[quad] : float4{0, 0, 0, 0};
    __syncwarp();
    if (there) store_pairs(x, up, group, to + 4 * quad / group * 2 * group + 4 * quad % group);
  }
}

__global__ void maxima_kernel(const float* from, std::size_t width, float* maxima) {
  const float largest = largest_in(from + blockIdx.x * width, width);
  if (threadIdx.x == 0) maxima[blockIdx.x] = largest;
}

// maxima[node][piece]
__global__ void piece_maxima_kernel(const float* from, std::size_t stride, std::size_t width,
                                    float* maxima) {
  const std::size_t first = blockIdx.x * kPiece;
  const float largest = largest_in(from + blockIdx.y * stride + first, min(width - first, kPiece));
  if (threadIdx.x == 0) maxima[blockIdx.y * gridDim.x + blockIdx.x] = largest;
}

// By the largest of `count` maxima.
__device__ Scale scale_of_all(const float* maxima, int count) {
  float largest = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) largest = fmaxf(largest, maxima[i]);
  return scale_for(block_max(largest));
}

__global__ void split_weights_kernel(const float* from, std::size_t stride, std::size_t width,
                                     int group, const float* maxima, float* to, float* unit) {
  const Scale scale = scale_of_all(maxima + blockIdx.y * gridDim.x, gridDim.x);
  if (threadIdx.x == 0 && blockIdx.x == 0) unit[blockIdx.y] = scale.unit;
  const std::size_t first = blockIdx.x * kPiece;
  split_all(from + blockIdx.y * stride + first, min(width - first, kPiece), group, scale.up,
            reinterpret_cast<half*>(to + blockIdx.y * width + first));
}

// `together` images have one scale.
__global__ void split_images_kernel(const float* from, std::size_t width, int group, int together,
                                    const float* maxima, float* to, float* unit) {
  const Scale scale = scale_of_all(maxima + blockIdx.x / together * together, together);
  if (threadIdx.x == 0) unit[blockIdx.x] = scale.unit;
  split_all(from + blockIdx.x * width, width, group, scale.up,
            reinterpret_cast<half*>(to + blockIdx.x * width));
}

// Eight rows to a tap: its channels for the larger halves of a pixel, filled up to four, and again
// for the smaller ones. The larger halves of weights are multiplied with both, the smaller ones
// with the larger halves of pixels alone.
__global__ void split_first_kernel(const ConvShape shape, int length, std::size_t floats, int rows,
                                   int group, const float* from, std::size_t stride, float* to,
                                   float* unit) {
  const float* const own = from + blockIdx.x * stride;
  const Scale scale = scale_for(largest_in(own, floats));
  if (threadIdx.x == 0) unit[blockIdx.x] = scale.unit;
  half* const halves =
      reinterpret_cast<half*>(to + static_cast<std::size_t>(blockIdx.x) * rows * shape.outputs);
  for (int i = threadIdx.x; i < rows * shape.outputs; i += blockDim.x) {
    const int row = i / shape.outputs, output = i % shape.outputs;
    const int tap = row / 8, channel = row % 4;
    const bool weight = tap < shape.kernel * shape.kernel && channel < shape.inputs;
    const int source = tap / shape.kernel * length + tap % shape.kernel * shape.inputs + channel;
    const float x = weight ? own[source * shape.outputs + output] * scale.up : 0;
    const half big = __float2half_rn(x);
    const half small = row % 8 < 4 ? __float2half_rn(x - __half2float(big)) : half(0);
    half* const at = halves + i / group * 2 * group + i % group;
    at[0] = big;
    at[group] = small;
  }
}

// The largest number of all lies in *largest, as bits: of positive floats they have the same order.
__global__ void pixel_maximum_kernel(const float* from, std::size_t count, unsigned* largest) {
  float own = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    own = fmaxf(own, fabsf(from[i]));
  own = block_max(own);
  if (threadIdx.x == 0) atomicMax(largest, __float_as_uint(own));
}

__global__ void split_pixels_kernel(const PixelSplit split) {
  const std::size_t pixel = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pixel >= split.pixels) return;
  float x[4] = {};
  for (int c = 0; c < split.channels; ++c) x[c] = split.from[pixel * split.channels + c];
  const Scale scale = scale_for(*split.unit);
  store_pairs({x[0], x[1], x[2], x[3]}, scale.up, 4, reinterpret_cast<half*>(split.to + 4 * pixel));
}

__global__ void unit_kernel(float* largest) {
  *largest = scale_for(*largest).unit;
}

}  // namespace

void split_pixels(const PixelSplit& split) {
  require(cudaMemset(split.unit, 0, sizeof(float)), "clearing memory");
  launch(pixel_maximum_kernel, dim3(1024), kThreads, 0, nullptr, split.from,
         split.pixels * split.channels, reinterpret_cast<unsigned*>(split.unit));
  launch(split_pixels_kernel, dim3(blocks_for(split.pixels, kThreads)), kThreads, 0, nullptr,
         split);
  launch(unit_kernel, dim3(1), 1, 0, nullptr, split.unit);
}

void split_images(const Pass& pass, const Rows& from, int channels, float* maxima,
                  const Pairs& to) {
  const dim3 grid(static_cast<unsigned>(pass.nodes * pass.batch));
  if (!from.maxima)
    launch(maxima_kernel, grid, kThreads, 0, pass.stream, from.data, from.width, maxima);
  launch(split_images_kernel, grid, kThreads, 0, pass.stream, from.data, from.width,
         pair_group(channels), pass.training ? pass.batch : 1, from.maxima ? from.maxima : maxima,
         to.data, to.unit);
}

int weight_pieces(const ConvShape& shape) {
  return static_cast<int>(
      blocks_for(static_cast<std::size_t>(shape.rows()) * shape.outputs, kPiece));
}

void split_weights(const Pass& pass, const ConvShape& shape, std::size_t weights, float* maxima,
                   const Pairs& to) {
  const dim3 grid(weight_pieces(shape), pass.nodes);
  const float* const from = pass.parameters + weights;
  const std::size_t width = static_cast<std::size_t>(shape.rows()) * shape.outputs;
  launch(piece_maxima_kernel, grid, kWeightThreads, 0, pass.stream, from, pass.dimension, width,
         maxima);
  launch(split_weights_kernel, grid, kWeightThreads, 0, pass.stream, from, pass.dimension, width,
         pair_group(shape.outputs), maxima, to.data, to.unit);
}

std::size_t first_weights_size(const ConvShape& shape) {
  const int taps = (shape.kernel * shape.kernel + 1) / 2 * 2;
  return static_cast<std::size_t>(8 * taps) * shape.outputs;
}

void split_first_weights(const Pass& pass, const ConvShape& shape, std::size_t weights,
                         const Pairs& to) {
  launch(split_first_kernel, dim3(static_cast<unsigned>(pass.nodes)), kWeightThreads, 0,
         pass.stream, shape, shape.length(), static_cast<std::size_t>(shape.rows()) * shape.outputs,
         static_cast<int>(first_weights_size(shape)) / shape.outputs, pair_group(shape.outputs),
         pass.parameters + weights, pass.dimension, to.data, to.unit);
}

}  // namespace tessera::cuda
