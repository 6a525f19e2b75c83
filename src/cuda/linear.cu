// Linear layers, y = W x + b, with few samples and W read once: a layer of this kind moves memory.
// Forward, a warp takes an output and the lanes its inputs; back, a thread takes an input and walks
// over the outputs. Up to kSamples samples are worked on together, 8 or 16 as the batch has them.
#include "cuda/instructions.cuh"
#include "cuda/kernels.h"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;

// A lane adds its inputs in order, then the lanes' sums are added by halves.
__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

__device__ float dot(float a, float b, float sum) {
  return fmaf(a, b, sum);
}
__device__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// A lane's part of a row's products, one number or four at a time.
template <typename Some, int kSamples>
__device__ void add_products(const float* row, const float* const (&samples)[kSamples], int count,
                             float (&sums)[kSamples]) {
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < count; i += 32) {
    const Some weight = reinterpret_cast<const Some*>(row)[i];
    for (int s = 0; s < kSamples; ++s)
      sums[s] = dot(weight, reinterpret_cast<const Some*>(samples[s])[i], sums[s]);
  }
}

template <int kSamples>
__global__ void linear_kernel(LinearShape shape, Rows in, const float* parameters,
                              std::size_t dimension, std::size_t weights, std::size_t bias,
                              int batch, float* out) {
  const int node = blockIdx.y, first = blockIdx.z * kSamples, lane = threadIdx.x % 32;
  const int output = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (output >= shape.outputs) return;
  const float* const own = parameters + node * dimension;
  const float* const row = own + weights + static_cast<std::size_t>(output) * shape.inputs;
  const int count = min(kSamples, batch - first);
  const float* samples[kSamples];
  for (int s = 0; s < kSamples; ++s) samples[s] = in.row(node, batch, first + min(s, count - 1));
  float sums[kSamples] = {};
  if (shape.inputs % 4 == 0)
    add_products<float4, kSamples>(row, samples, shape.inputs / 4, sums);
  else
    add_products<float, kSamples>(row, samples, shape.inputs, sums);
  for (int s = 0; s < kSamples; ++s) {
    float y = warp_sum(sums[s]) + own[bias + output];
    if (shape.relu && y <= 0) y = 0;
    if (lane == 0 && s < count)
      out[(static_cast<std::size_t>(node) * batch + first + s) * shape.outputs + output] = y;
  }
}

// Masks d_out where ReLU made zeros, and sums it over the samples.
__global__ void linear_bias_kernel(LinearShape shape, int batch, const float* out, float* d_out,
                                   float* d_bias) {
  const int node = blockIdx.y, output = blockIdx.x * kThreads + threadIdx.x;
  if (output >= shape.outputs) return;
  float sum = 0;
  for (int s = 0; s < batch; ++s) {
    const std::size_t at = (static_cast<std::size_t>(node) * batch + s) * shape.outputs + output;
    if (shape.relu && out[at] <= 0) d_out[at] = 0;
    sum += d_out[at];
  }
  d_bias[static_cast<std::size_t>(node) * shape.outputs + output] = sum;
}

// d_in for some samples at a time; d_weights is begun by the first of them and added to by others.
template <int kSamples>
__global__ void linear_gradient_kernel(LinearShape shape, Rows in, const float* parameters,
                                       std::size_t dimension, std::size_t weights, int batch,
                                       const float* d_out, float* d_in, float* d_weights) {
  float* const d_rows = shared_memory();  // [outputs][kSamples]
  const int node = blockIdx.y, input = blockIdx.x * kThreads + threadIdx.x;
  const float* const own = parameters + node * dimension + weights;
  for (int first = 0; first < batch; first += kSamples) {
    const int count = min(kSamples, batch - first);
    __syncthreads();
    for (int i = threadIdx.x; i < shape.outputs * kSamples; i += kThreads) {
      const int s = i / shape.outputs, output = i % shape.outputs;
      const std::size_t row = static_cast<std::size_t>(node) * batch + first + s;
      d_rows[output * kSamples + s] = s < count ? d_out[row * shape.outputs + output] : 0;
    }
    __syncthreads();
    if (input >= shape.inputs) continue;
    float x[kSamples], d_x[kSamples] = {};
    for (int s = 0; s < kSamples; ++s) x[s] = s < count ? in.row(node, batch, first + s)[input] : 0;
    for (int output = 0; output < shape.outputs; ++output) {
      const std::size_t at = static_cast<std::size_t>(output) * shape.inputs + input;
      const float weight = d_in ? own[at] : 0;
      float* const to =
          d_weights + static_cast<std::size_t>(node) * shape.outputs * shape.inputs + at;
      float sum = first > 0 ? *to : 0;
      for (int s = 0; s < kSamples; ++s) {
        const float d = d_rows[output * kSamples + s];
        sum = fmaf(d, x[s], sum);
        d_x[s] = fmaf(d, weight, d_x[s]);
      }
      *to = sum;
    }
    for (int s = 0; d_in && s < count; ++s)
      d_in[(static_cast<std::size_t>(node) * batch + first + s) * shape.inputs + input] = d_x[s];
  }
}

int samples_for(int batch) {
  return batch > 8 ? 16 : 8;
}

}  // namespace

void linear(const Pass& pass, const LinearShape& shape, const Rows& in, std::size_t weights,
            std::size_t bias, float* out) {
  const int samples = samples_for(pass.batch);
  const dim3 grid(blocks_for(shape.outputs, kThreads / 32), pass.nodes,
                  blocks_for(pass.batch, samples));
  launch(samples == 8 ? linear_kernel<8> : linear_kernel<16>, grid, kThreads, 0, pass.stream, shape,
         in, pass.parameters, pass.dimension, weights, bias, pass.batch, out);
}

void linear_gradient(const Pass& pass, const LinearShape& shape, const Rows& in,
                     std::size_t weights, const float* out, float* d_out, float* d_in,
                     const LinearGradients& gradients) {
  launch(linear_bias_kernel, dim3(blocks_for(shape.outputs, kThreads), pass.nodes), kThreads, 0,
         pass.stream, shape, pass.batch, out, d_out, gradients.bias);
  const int samples = samples_for(pass.batch);
  launch(samples == 8 ? linear_gradient_kernel<8> : linear_gradient_kernel<16>,
         dim3(blocks_for(shape.inputs, kThreads), pass.nodes), kThreads,
         sizeof(float) * shape.outputs * samples, pass.stream, shape, in, pass.parameters,
         pass.dimension, weights, pass.batch, static_cast<const float*>(d_out), d_in,
         gradients.weights);
}

}  // namespace tessera::cuda
