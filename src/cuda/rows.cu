// Kernels that walk over whole rows: nodes' vectors between PyTorch's order and ours, sums of
// activations, means over pixels.
#include <algorithm>

#include "cuda/kernels.h"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;

// A grid has at most 65,535 of these, and there may be several rows to a node.
constexpr int kRowsMax = 1024;

__global__ void gather_kernel(int rows, const std::uint32_t* map, std::size_t from_width,
                              const float* from, std::size_t to_width, float* to) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= to_width) return;
  const std::uint32_t at = map[i];
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y)
    to[row * to_width + i] = at == kNowhere ? 0 : from[row * from_width + at];
}

__global__ void add_kernel(std::size_t count, const float* a, const float* b, bool relu,
                           float* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float sum = a[i] + b[i];
  out[i] = relu && sum <= 0 ? 0 : sum;
}

__global__ void mask_kernel(std::size_t count, const float* out, float* d_out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count && out[i] <= 0) d_out[i] = 0;
}

__global__ void mean_kernel(std::size_t count, int pixels, int channels, const float* in,
                            float* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float* const from = in + i / channels * pixels * channels + i % channels;
  float sum = 0;
  for (int pixel = 0; pixel < pixels; ++pixel) sum += from[pixel * channels];
  out[i] = sum / static_cast<float>(pixels);
}

__global__ void mean_gradient_kernel(std::size_t count, int pixels, int channels,
                                     const float* d_out, float* d_in) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::size_t image = i / channels / pixels;
  d_in[i] = d_out[image * channels + i % channels] / static_cast<float>(pixels);
}

std::size_t numbers(const Pass& pass, std::size_t width) {
  return static_cast<std::size_t>(pass.nodes) * pass.batch * width;
}

}  // namespace

void gather(cudaStream_t stream, int rows, const std::uint32_t* map, std::size_t from_width,
            const float* from, std::size_t to_width, float* to) {
  launch(gather_kernel, dim3(blocks_for(to_width, kThreads), std::min(rows, kRowsMax)), kThreads, 0,
         stream, rows, map, from_width, from, to_width, to);
}

void add_rows(const Pass& pass, std::size_t width, const float* a, const float* b, bool relu,
              float* out) {
  const std::size_t count = numbers(pass, width);
  launch(add_kernel, dim3(blocks_for(count, kThreads)), kThreads, 0, pass.stream, count, a, b, relu,
         out);
}

void mask_rows(const Pass& pass, std::size_t width, const float* out, float* d_out) {
  const std::size_t count = numbers(pass, width);
  launch(mask_kernel, dim3(blocks_for(count, kThreads)), kThreads, 0, pass.stream, count, out,
         d_out);
}

void copy_rows(const Pass& pass, std::size_t width, const float* from, float* to) {
  require(cudaMemcpyAsync(to, from, sizeof(float) * numbers(pass, width), cudaMemcpyDeviceToDevice,
                          pass.stream),
          "a copy");
}

void mean_pool(const Pass& pass, int pixels, int channels, const float* in, float* out) {
  const std::size_t count = numbers(pass, channels);
  launch(mean_kernel, dim3(blocks_for(count, kThreads)), kThreads, 0, pass.stream, count, pixels,
         channels, in, out);
}

void mean_pool_gradient(const Pass& pass, int pixels, int channels, const float* d_out,
                        float* d_in) {
  const std::size_t count = numbers(pass, static_cast<std::size_t>(pixels) * channels);
  launch(mean_gradient_kernel, dim3(blocks_for(count, kThreads)), kThreads, 0, pass.stream, count,
         pixels, channels, d_out, d_in);
}

}  // namespace tessera::cuda
