// Rows of tables: embeddings, and the factors of users and items. Where a row occurs more than once
// in a batch, whoever finds its first place adds up all of them in order.
#include "cuda/launch.cuh"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void look_up_kernel(TableShape shape, Rows in, const float* parameters,
                               std::size_t dimension, std::size_t table, int batch, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x, node = blockIdx.y;
  const int of_sample = shape.numbers * shape.width;
  if (i >= batch * of_sample) return;
  const int sample = i / of_sample, number = i % of_sample / shape.width, k = i % shape.width;
  const auto row = static_cast<std::size_t>(in.row(node, batch, sample)[number]);
  out[static_cast<std::size_t>(node) * batch * of_sample + i] =
      parameters[node * dimension + table + row * shape.width + k];
}

// A thread has one number of the table and looks through all of the batch's, some at a time.
__global__ void look_up_gradient_kernel(TableShape shape, Rows in, int batch, const float* d_out,
                                        float* d_table) {
  constexpr int kTogether = 1024;
  __shared__ int rows[kTogether];
  const int i = blockIdx.x * kThreads + threadIdx.x, node = blockIdx.y;
  const int own = i / shape.width, k = i % shape.width, all = batch * shape.numbers;
  const float* const d = d_out + static_cast<std::size_t>(node) * all * shape.width + k;
  float sum = 0;
  for (int first = 0; first < all; first += kTogether) {
    const int count = min(kTogether, all - first);
    __syncthreads();
    for (int at = threadIdx.x; at < count; at += kThreads)
      rows[at] = static_cast<int>(
          in.row(node, batch, (first + at) / shape.numbers)[(first + at) % shape.numbers]);
    __syncthreads();
    for (int at = 0; at < count; ++at)
      if (rows[at] == own) sum += d[static_cast<std::size_t>(first + at) * shape.width];
  }
  if (own < shape.rows)
    d_table[static_cast<std::size_t>(node) * shape.rows * shape.width + i] = sum;
}

struct RatedRows {
  std::size_t user, item;  // Where they begin, in working order.
  __device__ RatedRows(const RatingShape& shape, const float* sample)
      : user(shape.users + static_cast<std::size_t>(sample[0]) * shape.width),
        item(shape.items + static_cast<std::size_t>(sample[1]) * shape.width) {}
};

__global__ void rate_kernel(RatingShape shape, Rows in, const float* parameters,
                            std::size_t dimension, int batch, float* out) {
  const int sample = blockIdx.x * kThreads + threadIdx.x, node = blockIdx.y;
  if (sample >= batch) return;
  const RatedRows rows(shape, in.row(node, batch, sample));
  const float* const own = parameters + node * dimension;
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < shape.width; ++k) sum = fmaf(own[rows.user + k], own[rows.item + k], sum);
  out[static_cast<std::size_t>(node) * batch + sample] = sum;
}

// Samples that fill up a batch have no gradient, whatever the rows they stand on hold.
__global__ void rate_gradient_kernel(RatingShape shape, Rows in, const float* parameters,
                                     std::size_t dimension, int batch, const float* d_out,
                                     RatingGradients gradients) {
  const int i = blockIdx.x * kThreads + threadIdx.x, node = blockIdx.y;
  if (i >= batch * shape.width) return;
  const int sample = i / shape.width, k = i % shape.width;
  const RatedRows rows(shape, in.row(node, batch, sample));
  const float* const own = parameters + node * dimension;
  const std::size_t first = static_cast<std::size_t>(node) * 2 * batch + sample;
  const float d = d_out[static_cast<std::size_t>(node) * batch + sample];
  gradients.terms[first * shape.width + k] = d == 0 ? 0 : d * own[rows.item + k];
  gradients.terms[(first + batch) * shape.width + k] = d == 0 ? 0 : d * own[rows.user + k];
  if (k > 0) return;
  gradients.rows[first] = static_cast<std::uint32_t>(rows.user);
  gradients.rows[first + batch] = static_cast<std::uint32_t>(rows.item);
}

// A row of a batch that occurs for the first time at the block's sample, and one number's sum over
// all samples that have it.
struct Touched {
  std::uint32_t row = kNowhere;
  float sum = 0;
  // Of the users' rows (which = 0) or the items'.
  __device__ Touched(const RatingGradients& gradients, int width, int batch, int which, int k) {
    const int own = blockIdx.x;
    const std::size_t first = (static_cast<std::size_t>(blockIdx.y) * 2 + which) * batch;
    const std::uint32_t* const rows = gradients.rows + first;
    const float* const terms = gradients.terms + first * width + k;
    for (int before = 0; before < own; ++before)
      if (rows[before] == rows[own]) return;
    row = rows[own];
    for (int sample = own; sample < batch; ++sample)
      if (rows[sample] == row) sum += terms[static_cast<std::size_t>(sample) * width];
  }
};

struct TouchedGradients {
  float* of[2] = {};
  std::size_t stride[2] = {}, first[2] = {};
};

__global__ void gather_touched_kernel(RatingGradients gradients, int width, int batch,
                                      TouchedGradients to) {
  const int which = blockIdx.z;
  for (int k = threadIdx.x; k < width; k += blockDim.x) {
    const Touched touched(gradients, width, batch, which, k);
    if (touched.row == kNowhere) return;
    to.of[which][blockIdx.y * to.stride[which] + touched.row - to.first[which] + k] = touched.sum;
  }
}

__global__ void descend_touched_kernel(RatingGradients gradients, int width, int batch, float lr,
                                       std::size_t dimension, float* parameters) {
  for (int k = threadIdx.x; k < width; k += blockDim.x) {
    const Touched touched(gradients, width, batch, blockIdx.z, k);
    if (touched.row == kNowhere) return;
    float* const at = parameters + blockIdx.y * dimension + touched.row + k;
    *at -= lr * touched.sum;
  }
}

// Threads for one row.
int threads_for(int width) {
  return width < kThreads ? (width + 31) / 32 * 32 : kThreads;
}

}  // namespace

void look_up(const Pass& pass, const TableShape& shape, const Rows& in, std::size_t table,
             float* out) {
  const auto count = static_cast<std::size_t>(pass.batch) * shape.numbers * shape.width;
  launch(look_up_kernel, dim3(blocks_for(count, kThreads), pass.nodes), kThreads, 0, pass.stream,
         shape, in, pass.parameters, pass.dimension, table, pass.batch, out);
}

void look_up_gradient(const Pass& pass, const TableShape& shape, const Rows& in, const float* d_out,
                      float* d_table) {
  const auto count = static_cast<std::size_t>(shape.rows) * shape.width;
  launch(look_up_gradient_kernel, dim3(blocks_for(count, kThreads), pass.nodes), kThreads, 0,
         pass.stream, shape, in, pass.batch, d_out, d_table);
}

void rate(const Pass& pass, const RatingShape& shape, const Rows& in, float* out) {
  launch(rate_kernel, dim3(blocks_for(pass.batch, kThreads), pass.nodes), kThreads, 0, pass.stream,
         shape, in, pass.parameters, pass.dimension, pass.batch, out);
}

void rate_gradient(const Pass& pass, const RatingShape& shape, const Rows& in, const float* d_out,
                   const RatingGradients& gradients) {
  const auto count = static_cast<std::size_t>(pass.batch) * shape.width;
  launch(rate_gradient_kernel, dim3(blocks_for(count, kThreads), pass.nodes), kThreads, 0,
         pass.stream, shape, in, pass.parameters, pass.dimension, pass.batch, d_out, gradients);
}

void gather_touched(const Pass& pass, const RatingShape& shape, const RatingGradients& gradients,
                    float* d_users, std::size_t users_stride, float* d_items,
                    std::size_t items_stride) {
  const TouchedGradients to{.of = {d_users, d_items},
                            .stride = {users_stride, items_stride},
                            .first = {shape.users, shape.items}};
  launch(gather_touched_kernel, dim3(pass.batch, pass.nodes, 2), threads_for(shape.width), 0,
         pass.stream, gradients, shape.width, pass.batch, to);
}

void descend_touched(const Pass& pass, const RatingShape& shape, const RatingGradients& gradients,
                     float lr, float* parameters) {
  launch(descend_touched_kernel, dim3(pass.batch, pass.nodes, 2), threads_for(shape.width), 0,
         pass.stream, gradients, shape.width, pass.batch, lr, pass.dimension, parameters);
}

}  // namespace tessera::cuda
