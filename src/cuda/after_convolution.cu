// Group norm, ReLU and 2x2 max pooling after a convolution, in one pass over its result, and the
// way back. A block takes one image. A thread keeps to four channels and walks over windows: the
// four pixels that are pooled together, or one pixel where nothing is pooled. Up to kHeld windows
// stay in its registers from the sums to the result.
//
// Sums over pixels: each thread its own windows in order, then halves of the threads are added
// until one is left; sums over a group's channels in their order.
#include "cuda/instructions.cuh"
#include "cuda/launch.cuh"
#include "cuda/pixels.cuh"

namespace tessera::cuda {
namespace {

constexpr float kEpsilon = 1e-5f;
// Of at most this many threads each holds this many windows.
constexpr int kThreadsMax = 512, kWindows = 4;

// Sums of a group's channels, each weighted by `weights` where there are any.
__device__ float group_sum(const float* sums, const float* weights, int group, int channels) {
  float total = 0;
  for (int c = group * channels; c < (group + 1) * channels; ++c)
    total += weights ? weights[c] * sums[c] : sums[c];
  return total;
}

// What a block keeps in shared memory.
struct BlockMemory {
  float4* scratch;        // [2][threads]
  float* channels;        // [2][channels]
  float *first, *second;  // [groups]
  __device__ BlockMemory(float4* shared, const AfterShape& shape)
      : scratch(shared),
        channels(reinterpret_cast<float*>(shared + 2 * blockDim.x)),
        first(channels + 2 * shape.channels),
        second(first + max(shape.groups, 1)) {}
};
std::size_t block_bytes(const AfterShape& shape, int threads) {
  return sizeof(float4) * 2 * threads +
         sizeof(float) * 2 * (shape.channels + (shape.groups > 0 ? shape.groups : 1));
}

template <bool kPool, int kHeld>
__device__ void measure(const AfterShape& shape, Windows<kPool, kHeld>& windows,
                        const BlockMemory& memory, float* moments) {
  const int in_group = shape.channels / shape.groups;
  const float count = static_cast<float>(in_group) * shape.height * shape.width;
  float4 sum[1] = {};
  windows.for_pixels([&](float4 x) { sum[0] = sum[0] + x; });
  sum_over_block(sum, windows.place, memory.scratch, memory.channels);
  for (int group = threadIdx.x; group < shape.groups; group += blockDim.x)
    memory.first[group] = group_sum(memory.channels, nullptr, group, in_group) / count;
  __syncthreads();
  const float4 mean = of_groups(memory.first, windows.place, in_group);
  sum[0] = {};
  windows.for_pixels([&](float4 x) { sum[0] = sum[0] + (x - mean) * (x - mean); });
  sum_over_block(sum, windows.place, memory.scratch, memory.channels);
  for (int group = threadIdx.x; group < shape.groups; group += blockDim.x) {
    const float variance = group_sum(memory.channels, nullptr, group, in_group) / count;
    memory.second[group] = 1 / sqrtf(variance + kEpsilon);
    moments[2 * group] = memory.first[group];
    moments[2 * group + 1] = memory.second[group];
  }
  __syncthreads();
}

// The largest of a window, the first of equals; a NaN is passed on. ReLU leaves a NaN too.
template <int kPixels>
__device__ void largest(const float (&x)[kPixels], bool relu, float& out, unsigned char& winner) {
  winner = 0;
  out = x[0];
  for (int i = 1; i < kPixels; ++i)
    if (x[i] > out || isnan(x[i])) {
      out = x[i];
      winner = static_cast<unsigned char>(i);
    }
  if (relu && out <= 0) {
    out = 0;
    winner = kNone;
  }
}

// The largest of a block's non-negative numbers, whose bits have the same order. A block may have
// any number of threads.
class BlockMax {
 public:
  __device__ explicit BlockMax(unsigned* shared) : shared_(shared) {
    if (threadIdx.x == 0) *shared_ = 0;
    __syncthreads();
  }
  __device__ void look(float4 x) {
    own_ = fmaxf(own_, fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
  }
  __device__ void store(float* to) {
    // Lanes that come here at different times are so many groups, each with a first of its own.
    const unsigned together = __activemask();
    const unsigned of_group = __reduce_max_sync(together, __float_as_uint(own_));
    if (threadIdx.x % 32 + 1 == __ffs(together)) atomicMax(shared_, of_group);
    __syncthreads();
    if (threadIdx.x == 0) *to = __uint_as_float(*shared_);
  }

 private:
  unsigned* shared_;
  float own_ = 0;
};

template <bool kPool, int kHeld>
__global__ void __launch_bounds__(kThreadsMax)
    after_kernel(const AfterShape shape, AfterMemory memory, const float* parameters,
                 std::size_t dimension, std::size_t gamma, std::size_t beta, int batch,
                 bool training) {
  const BlockMemory block(shared_memory<float4>(), shape);
  const std::size_t image = blockIdx.x;
  Windows<kPool, kHeld> windows(shape,
                                memory.x + image * shape.height * shape.width * shape.channels);
  const QuadPlace& place = windows.place;
  float4 scale = {1, 1, 1, 1}, shift = {};
  if (shape.groups > 0) {
    measure(shape, windows, block, memory.moments + image * 2 * shape.groups);
    const float* const own = parameters + image / batch * dimension;
    const int in_group = shape.channels / shape.groups;
    scale = quad_at(own + gamma, place) * of_groups(block.second, place, in_group);
    shift = quad_at(own + beta, place) - of_groups(block.first, place, in_group) * scale;
  }
  __shared__ unsigned largest_bits;
  BlockMax largest_out(&largest_bits);
  const std::size_t first = image * windows.count * shape.channels;
  windows.for_each([&](int window, const float4(&x)[Windows<kPool, kHeld>::kPixels]) {
    float4 out;
    uchar4 winner;
    for (int c = 0; c < 4; ++c) {
      float y[Windows<kPool, kHeld>::kPixels];
      for (int i = 0; i < windows.kPixels; ++i)
        y[i] = fmaf(part(x[i], c), part(scale, c), part(shift, c));
      largest(y, shape.relu, part(out, c), part(winner, c));
    }
    const std::size_t to =
        first + static_cast<std::size_t>(window) * shape.channels + place.channel;
    *reinterpret_cast<float4*>(memory.out + to) = out;
    if (training) *reinterpret_cast<uchar4*>(memory.winner + to) = winner;
    largest_out.look(out);
  });
  if (memory.maxima) largest_out.store(memory.maxima + image);
}

// What a window's result sends back: to which pixel, and how much.
struct SentBack {
  float4 d_out;
  uchar4 winner;
  __device__ SentBack(const float* d, const std::uint8_t* winners, std::size_t at)
      : d_out(*reinterpret_cast<const float4*>(d + at)),
        winner(*reinterpret_cast<const uchar4*>(winners + at)) {}
  __device__ float to(int pixel, int c) const {
    return part(winner, c) == pixel ? part(d_out, c) : 0;
  }
};

// Per channel: the sums of dy and of dy times the normalized x. Where dy is not zero is one pixel
// of a window.
template <bool kPool, typename Sent>
__device__ void sum_gradients(Windows<kPool, 0>& windows, const BlockMemory& block, float4 mean,
                              float4 r, Sent sent) {
  float4 sums[2] = {};
  windows.for_each([&](int window, const float4(&x)[Windows<kPool, 0>::kPixels]) {
    const SentBack back = sent(window);
    for (int i = 0; i < windows.kPixels; ++i)
      for (int c = 0; c < 4; ++c) {
        const float dy = back.to(i, c);
        part(sums[0], c) += dy;
        part(sums[1], c) += dy * ((part(x[i], c) - part(mean, c)) * part(r, c));
      }
  });
  sum_over_block(sums, windows.place, block.scratch, block.channels);
}

// Both end with a barrier.
__device__ void bring_moments(const AfterShape& shape, const float* moments,
                              const BlockMemory& block) {
  for (int group = threadIdx.x; group < shape.groups; group += blockDim.x) {
    block.first[group] = moments[2 * group];
    block.second[group] = moments[2 * group + 1];
  }
  __syncthreads();
}
__device__ void store_sums(const AfterShape& shape, const BlockMemory& block, std::size_t image,
                           const AfterGradients& gradients) {
  for (int c = threadIdx.x; c < shape.channels; c += blockDim.x) {
    gradients.beta[image * shape.channels + c] = block.channels[c];
    gradients.gamma[image * shape.channels + c] = block.channels[shape.channels + c];
  }
  __syncthreads();
}

template <bool kPool>
__global__ void __launch_bounds__(kThreadsMax, 2)
    after_gradient_kernel(const AfterShape shape, AfterMemory memory, const float* parameters,
                          std::size_t dimension, std::size_t gamma, int batch, const float* d_out,
                          AfterGradients gradients) {
  const BlockMemory block(shared_memory<float4>(), shape);
  const std::size_t image = blockIdx.x;
  Windows<kPool, 0> windows(shape, memory.x + image * shape.height * shape.width * shape.channels);
  const QuadPlace& place = windows.place;
  const std::size_t first = image * windows.count * shape.channels + place.channel;
  const auto sent = [&](int window) {
    return SentBack(d_out, memory.winner,
                    first + static_cast<std::size_t>(window) * shape.channels);
  };
  // dx = slope dy + along x + constant
  float4 slope = {1, 1, 1, 1}, along = {}, constant = {};
  if (shape.groups > 0) {
    const int in_group = shape.channels / shape.groups;
    const float* const moments = memory.moments + image * 2 * shape.groups;
    bring_moments(shape, moments, block);
    const float4 mean = of_groups(block.first, place, in_group);
    const float4 r = of_groups(block.second, place, in_group);
    sum_gradients(windows, block, mean, r, sent);
    const float* const gammas = parameters + image / batch * dimension + gamma;
    const float count = static_cast<float>(in_group) * shape.height * shape.width;
    for (int group = threadIdx.x; group < shape.groups; group += blockDim.x) {
      block.first[group] = group_sum(block.channels, gammas, group, in_group) / count;
      block.second[group] =
          group_sum(block.channels + shape.channels, gammas, group, in_group) / count;
    }
    store_sums(shape, block, image, gradients);
    slope = r * quad_at(gammas, place);
    along = float4{0, 0, 0, 0} - r * r * of_groups(block.second, place, in_group);
    constant = float4{0, 0, 0, 0} - r * of_groups(block.first, place, in_group) - along * mean;
  }
  __shared__ unsigned largest_bits;
  BlockMax largest_dx(&largest_bits);
  float4 sum[1] = {};
  windows.for_each([&](int window, float4(&x)[Windows<kPool, 0>::kPixels]) {
    const SentBack back = sent(window);
    for (int i = 0; i < windows.kPixels; ++i)
      for (int c = 0; c < 4; ++c)
        part(x[i], c) =
            fmaf(part(slope, c), back.to(i, c),
                 shape.groups > 0 ? fmaf(part(along, c), part(x[i], c), part(constant, c)) : 0);
    for (int i = 0; i < windows.kPixels; ++i) {
      sum[0] = sum[0] + x[i];
      largest_dx.look(x[i]);
    }
    windows.store(window, x);
  });
  windows.for_rest([&](float4& x) {
    x = shape.groups > 0 ? along * x + constant : float4{0, 0, 0, 0};
    sum[0] = sum[0] + x;
    largest_dx.look(x);
  });
  if (memory.d_maxima) largest_dx.store(memory.d_maxima + image);
  sum_over_block(sum, place, block.scratch, block.channels);
  for (int c = threadIdx.x; c < shape.channels; c += blockDim.x)
    gradients.bias[image * shape.channels + c] = block.channels[c];
}

int windows_of(const AfterShape& shape) {
  return shape.pool ? (shape.height / 2) * (shape.width / 2) : shape.height * shape.width;
}
int held_by_thread(const AfterShape& shape) {
  return shape.pool ? kWindows : 4 * kWindows;
}
// As many as it takes to hold the image.
int threads_for(const AfterShape& shape) {
  const int quads = shape.channels / 4;
  int lanes = 1;
  while (2 * lanes * quads <= kThreadsMax && lanes * held_by_thread(shape) < windows_of(shape))
    lanes *= 2;
  return lanes * quads;
}

}  // namespace

void after_convolution(const Pass& pass, const AfterShape& shape, const AfterMemory& memory,
                       std::size_t gamma, std::size_t beta) {
  const int threads = threads_for(shape);
  const bool held = 4 * threads / shape.channels * held_by_thread(shape) >= windows_of(shape);
  const auto kernel = shape.pool
                          ? (held ? after_kernel<true, kWindows> : after_kernel<true, 0>)
                          : (held ? after_kernel<false, 4 * kWindows> : after_kernel<false, 0>);
  launch(kernel, dim3(pass.nodes * pass.batch), threads, block_bytes(shape, threads), pass.stream,
         shape, memory, pass.parameters, pass.dimension, gamma, beta, pass.batch, pass.training);
}

void after_convolution_gradient(const Pass& pass, const AfterShape& shape,
                                const AfterMemory& memory, std::size_t gamma, const float* d_out,
                                const AfterGradients& gradients) {
  const int threads = threads_for(shape);
  launch(shape.pool ? after_gradient_kernel<true> : after_gradient_kernel<false>,
         dim3(pass.nodes * pass.batch), threads, block_bytes(shape, threads), pass.stream, shape,
         memory, pass.parameters, pass.dimension, gamma, pass.batch, d_out, gradients);
}

}  // namespace tessera::cuda
