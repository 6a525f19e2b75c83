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
  double loss = 0, right = 0;
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
  return {loss, best == wanted && isfinite(total) ? 1.0 : 0.0};
}

__device__ SampleScore score_rating(const RatingScale& scale, float predicted, float target) {
  const double error = static_cast<double>(predicted) - static_cast<double>(target);
  const float clipped = fminf(fmaxf(predicted, scale.lowest), scale.highest);
  return {error * error, fabsf(clipped - target) <= scale.tolerance ? 1.0 : 0.0};
}

__global__ void score_kernel(ScoreInputs inputs, int batch, const float* outputs, double* sums) {
  __shared__ double losses[kThreads], rights[kThreads], counts[kThreads];
  const int node = blockIdx.x, width = inputs.classes > 0 ? inputs.classes : 1;
  SampleScore own;
  double count = 0;
  for (int sample = threadIdx.x; sample < batch; sample += kThreads) {
    const std::size_t at = node * inputs.chosen_stride + sample;
    if (!inputs.counted[at]) continue;
    const float* const row = outputs + (static_cast<std::size_t>(node) * batch + sample) * width;
    const float target = inputs.targets[inputs.chosen[at]];
    const SampleScore score = inputs.classes > 0 ? score_class(row, width, static_cast<int>(target))
                                                 : score_rating(inputs.ratings, row[0], target);
    own.loss += score.loss;
    own.right += score.right;
    count += 1;
  }
  losses[threadIdx.x] = own.loss;
  rights[threadIdx.x] = own.right;
  counts[threadIdx.x] = count;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    losses[threadIdx.x] += losses[threadIdx.x + half];
    rights[threadIdx.x] += rights[threadIdx.x + half];
    counts[threadIdx.x] += counts[threadIdx.x + half];
  }
  if (threadIdx.x > 0) return;
  sums[3 * node] += losses[0];
  sums[3 * node + 1] += rights[0];
  sums[3 * node + 2] += counts[0];
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
