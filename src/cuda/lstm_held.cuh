// The product of an LSTM's step: 16 samples' rows in shared memory times weights that a warp keeps
// in its registers from step to step, 32 columns of them. A row holds one term of all samples.
#pragma once

#include "cuda/multiply.cuh"

namespace tessera::cuda {

constexpr int kTileSamples = 16, kWarpColumns = 32;
// Floats from term to term of what comes in, and from column to column of the sums: lanes keep to
// different banks as they read and write.
constexpr int kTermPitch = 24, kSumPitch = 20;

// kTerms weights to a lane: those of its own column, or as the tensor cores want them.
template <Precision kPrecision, int kTerms>
class HeldWeights {
 public:
  // at(term, column)
  template <typename At>
  __device__ explicit HeldWeights(At at) {
    const Lane lane;
#pragma unroll
    for (int k = 0; k < kTerms; k += 8)
#pragma unroll
      for (int n = 0; n < 8; ++n) weights_[k + n] = at(k + lane.t + n % 2 * 4, n / 2 * 8 + lane.g);
  }

  // sums[column][sample]; rows[term][sample].
  __device__ void multiply(const float* rows, float* sums) const {
    constexpr int kTogether = kTerms < 32 ? kTerms : 32;  // See multiply.cuh.
    const Lane lane;
    WarpSums<1, 4> all;
#pragma unroll
    for (int first = 0; first < kTerms; first += kTogether) {
      WarpSums<1, 4> some;
#pragma unroll
      for (int k = first; k < first + kTogether; k += 8)
        add_tensor<kPrecision>(
            some,
            [&](int, float(&to)[4]) {
#pragma unroll
              for (int n = 0; n < 4; ++n)
                to[n] = rows[(k + lane.t + n / 2 * 4) * kTermPitch + lane.g + n % 2 * 8];
            },
            [&](int j, float(&to)[2]) {
              to[0] = weights_[k + 2 * j];
              to[1] = weights_[k + 2 * j + 1];
              // The parts of all that are held would fill more registers than there are.
              stay_here(to[0]);
              stay_here(to[1]);
            });
      add_to(all, some);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int n = 0; n < 4; ++n)
        sums[(8 * j + 2 * lane.t + n % 2) * kSumPitch + lane.g + n / 2 * 8] = all.at[0][j][n];
  }

 private:
  float weights_[kTerms];
};

template <int kTerms>
class HeldWeights<Precision::kFp32, kTerms> {
 public:
  template <typename At>
  __device__ explicit HeldWeights(At at) {
#pragma unroll
    for (int k = 0; k < kTerms; ++k) weights_[k] = at(k, static_cast<int>(threadIdx.x % 32));
  }

  __device__ void multiply(const float* rows, float* sums) const {
    float4 all[kTileSamples / 4] = {};
#pragma unroll
    for (int k = 0; k < kTerms; ++k)
#pragma unroll
      for (int q = 0; q < kTileSamples / 4; ++q) {
        const float4 x = reinterpret_cast<const float4*>(rows + k * kTermPitch)[q];
        all[q].x = fmaf(weights_[k], x.x, all[q].x);
        all[q].y = fmaf(weights_[k], x.y, all[q].y);
        all[q].z = fmaf(weights_[k], x.z, all[q].z);
        all[q].w = fmaf(weights_[k], x.w, all[q].w);
      }
    float4* const to = reinterpret_cast<float4*>(sums + threadIdx.x % 32 * kSumPitch);
#pragma unroll
    for (int q = 0; q < kTileSamples / 4; ++q) to[q] = all[q];
  }

 private:
  float weights_[kTerms];
};

}  // namespace tessera::cuda
