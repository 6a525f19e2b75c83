// Losses of a batch and their gradient, and the scores of an evaluation. A block takes a node and a
// thread a sample; samples are added in their order.
#include "cuda/kernels.h"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 128;

__device__ float cross_entropy(int classes, int target, float weight, const float* row, float* d) {
  float top = row[0];
  for (int c = 1; c < classes; ++c) top = fmaxf(top, row[c]);
  float sum = 0;
  for (int c = 0; c < classes; ++c) sum += d[c] = expf(row[c] - top);
  for (int c = 0; c < classes; ++c) d[c] = d[c] / sum * weight;
  d[target] -= weight;
  return logf(sum) - (row[target] - top);
}

__global__ void loss_kernel(LossInputs inputs, int batch, const float* outputs, float* d_outputs,
                            float* losses) {
  __shared__ float own[kThreads];
  const int node = blockIdx.x, width = inputs.classes > 0 ? inputs.classes : 1;
  float total = 0;
  for (int first = 0; first < batch; first += kThreads) {
    const int sample = first + threadIdx.x;
    float loss = 0;
    if (sample < batch) {
      const std::size_t at = static_cast<std::size_t>(node) * batch + sample;
      const float weight = inputs.weights[at], target = inputs.targets[inputs.chosen[at]];
      const float* const row = outputs + at * width;
      float* const d = d_outputs + at * width;
      if (inputs.classes > 0) {
        loss = weight * cross_entropy(width, static_cast<int>(target), weight, row, d);
      } else {
        const float error = row[0] - target;
        loss = weight * error * error;
        d[0] = 2 * error * weight;
      }
    }
    own[threadIdx.x] = loss;
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < kThreads && first + i < batch; ++i) total += own[i];
    __syncthreads();
  }
  if (threadIdx.x == 0) losses[node] += inputs.share * total;
}

struct SampleScore {
  double loss = 0, right = 0, count = 0;
};

__device__ SampleScore score_class(const float* row, int classes, int wanted) {
  int best = 0;
  for (int c = 1; c < classes; ++c)
    if (row[c] > row[best]) best = c;
  double total = 0;
  for (int c = 0; c < classes; ++c)
    total += exp(static_cast<double>(row[c]) - static_cast<double>(row[best]));
  const double loss =
      log(total) - (static_cast<double>(row[wanted]) - static_cast<double>(row[best]));
  return {loss, best == wanted && isfinite(total) ? 1.0 : 0.0, 1};
}

__device__ SampleScore score_rating(const RatingScale& scale, float predicted, float target) {
  const double error = static_cast<double>(predicted) - static_cast<double>(target);
  const float clipped = fminf(fmaxf(predicted, scale.lowest), scale.highest);
  return {error * error, fabsf(clipped - target) <= scale.tolerance ? 1.0 : 0.0, 1};
}

// The first three threads each add one of {loss, right, count} onto the node's sums, sample by
// sample: in how many batches the samples come changes no bit.
__global__ void score_kernel(ScoreInputs inputs, int batch, const float* outputs, double* sums) {
  __shared__ double own[3][kThreads];
  const int node = blockIdx.x, width = inputs.classes > 0 ? inputs.classes : 1;
  const bool adds = threadIdx.x < 3;
  double total = adds ? sums[3 * node + threadIdx.x] : 0;
  for (int first = 0; first < batch; first += kThreads) {
    const int sample = first + threadIdx.x;
    const std::size_t at = node * inputs.chosen_stride + sample;
    SampleScore score;
    if (sample < batch && inputs.counted[at]) {
      const float* const row = outputs + (static_cast<std::size_t>(node) * batch + sample) * width;
      const float target = inputs.targets[inputs.chosen[at]];
      score = inputs.classes > 0 ? score_class(row, width, static_cast<int>(target))
                                 : score_rating(inputs.ratings, row[0], target);
    }
    own[0][threadIdx.x] = score.loss;
    own[1][threadIdx.x] = score.right;
    own[2][threadIdx.x] = score.count;
    __syncthreads();
    const int count = min(kThreads, batch - first);
    for (int i = 0; adds && i < count; ++i) total += own[threadIdx.x][i];
    __syncthreads();
  }
  if (adds) sums[3 * node + threadIdx.x] = total;
}

}  // namespace

void loss_and_gradient(const Pass& pass, const LossInputs& inputs, const float* outputs,
                       float* d_outputs, float* losses) {
  launch(loss_kernel, dim3(pass.nodes), kThreads, 0, pass.stream, inputs, pass.batch, outputs,
         d_outputs, losses);
}

void add_scores(const Pass& pass, const ScoreInputs& inputs, const float* outputs, double* sums) {
  launch(score_kernel, dim3(pass.nodes), kThreads, 0, pass.stream, inputs, pass.batch, outputs,
         sums);
}

}  // namespace tessera::cuda
