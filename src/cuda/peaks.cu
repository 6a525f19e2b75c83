#include "cuda/peaks.h"

#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256, kTurns = 4096, kSums = 8;

__global__ void plain_kernel(float* out) {
  float sums[2 * kSums] = {};
  const float a = threadIdx.x, b = 1.0f / (blockIdx.x + 1);
  for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
    for (float& sum : sums) sum = fmaf(sum, b, a);
  float total = 0;
  for (const float sum : sums) total += sum;
  out[blockIdx.x * kThreads + threadIdx.x] = total;
}

__global__ void tensor_kernel(float* out) {
  float sums[kSums][4] = {};
  const std::uint32_t x = __float_as_uint(1.0f + threadIdx.x);
  for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
    for (auto& sum : sums) mma(sum, {x, x, x, x}, {x, x});
  float total = 0;
  for (const auto& sum : sums) total += sum[0] + sum[1] + sum[2] + sum[3];
  out[blockIdx.x * kThreads + threadIdx.x] = total;
}

__global__ void halves_kernel(float* out) {
  float sums[kSums][4] = {};
  const std::uint32_t x = 0x3c003c00u + threadIdx.x;
  for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
    for (auto& sum : sums) mma_halves(sum, {x, x, x, x}, x, x);
  float total = 0;
  for (const auto& sum : sums) total += sum[0] + sum[1] + sum[2] + sum[3];
  out[blockIdx.x * kThreads + threadIdx.x] = total;
}

}  // namespace

double multiply_plain(cudaStream_t stream, int blocks, float* out) {
  launch(plain_kernel, dim3(blocks), kThreads, 0, stream, out);
  return 2.0 * blocks * kThreads * kTurns * 2 * kSums;
}

double multiply_tensor(cudaStream_t stream, int blocks, float* out) {
  launch(tensor_kernel, dim3(blocks), kThreads, 0, stream, out);
  return 2.0 * blocks * (kThreads / 32) * kTurns * kSums * 16 * 8 * 8;
}

double multiply_halves(cudaStream_t stream, int blocks, float* out) {
  launch(halves_kernel, dim3(blocks), kThreads, 0, stream, out);
  return 2.0 * blocks * (kThreads / 32) * kTurns * kSums * 16 * 8 * 16;
}

}  // namespace tessera::cuda
