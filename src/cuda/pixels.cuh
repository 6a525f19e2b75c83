// How a block walks over one image [y][x][channel]: threads keep to four channels each and deal the
// windows among themselves; and how their sums come together.
#pragma once

#include "cuda/kernels.h"

namespace tessera::cuda {

constexpr unsigned char kNone = 4;  // No pixel of a window: ReLU made its result zero.

__device__ inline float4 operator+(float4 a, float4 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
__device__ inline float4 operator-(float4 a, float4 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}
__device__ inline float4 operator*(float4 a, float4 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}
// By a number that is known when loops are unrolled, so that it stays in registers.
__device__ inline float& part(float4& v, int c) {
  return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w;
}
__device__ inline float part(const float4& v, int c) {
  return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w;
}
__device__ inline unsigned char& part(uchar4& v, int c) {
  return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w;
}
__device__ inline unsigned char part(const uchar4& v, int c) {
  return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w;
}

// A thread's first channel, and its number among those that have the same.
struct QuadPlace {
  int channel, lane, lanes, quads;
  __device__ explicit QuadPlace(int channels)
      : channel(threadIdx.x % (channels / 4) * 4),
        lane(threadIdx.x / (channels / 4)),
        lanes(blockDim.x / (channels / 4)),
        quads(channels / 4) {}
};

__device__ inline float4 quad_at(const float* values, const QuadPlace& place) {
  return *reinterpret_cast<const float4*>(values + place.channel);
}
__device__ inline float4 of_groups(const float* groups, const QuadPlace& place, int in_group) {
  const int c = place.channel;
  return {groups[c / in_group], groups[(c + 1) / in_group], groups[(c + 2) / in_group],
          groups[(c + 3) / in_group]};
}

// Leaves sums[value][channel] in shared memory.
template <int kValues>
__device__ void sum_over_block(const float4 (&own)[kValues], const QuadPlace& place,
                               float4* scratch, float* sums) {
  for (int v = 0; v < kValues; ++v) scratch[v * blockDim.x + threadIdx.x] = own[v];
  for (int half = place.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place.lane < half)
      for (int v = 0; v < kValues; ++v) {
        float4* const at = scratch + v * blockDim.x + threadIdx.x;
        at[0] = at[0] + at[half * place.quads];
      }
  }
  __syncthreads();
  if (place.lane == 0)
    for (int v = 0; v < kValues; ++v)
      *reinterpret_cast<float4*>(sums + v * 4 * place.quads + place.channel) =
          scratch[v * blockDim.x + threadIdx.x];
  __syncthreads();
}

template <bool kPool, int kHeld>
class Windows {
 public:
  static constexpr int kPixels = kPool ? 4 : 1;

  __device__ Windows(const AfterShape& shape, float* image)
      : place(shape.channels),
        count(kPool ? (shape.height / 2) * (shape.width / 2) : shape.height * shape.width),
        image_(image),
        height_(shape.height),
        width_(shape.width) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (place.lane + k * place.lanes < count) read(place.lane + k * place.lanes, held_[k]);
  }

  // body(window, its pixels), for the thread's own windows.
  template <typename Body>
  __device__ void for_each(Body body) {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        if (place.lane + k * place.lanes < count) body(place.lane + k * place.lanes, held_[k]);
    } else {
      for (int window = place.lane; window < count; window += place.lanes) {
        float4 pixels[kPixels];
        read(window, pixels);
        body(window, pixels);
      }
    }
  }
  // body(pixel), for those too that an odd height or width leaves out of every window.
  template <typename Body>
  __device__ void for_pixels(Body body) {
    for_each([&](int, const float4(&pixels)[kPixels]) {
      for (int i = 0; i < kPixels; ++i) body(pixels[i]);
    });
    for_each_left_out([&](int pixel) { body(*at(pixel)); });
  }
  // For those alone, in place.
  template <typename Body>
  __device__ void for_rest(Body body) {
    for_each_left_out([&](int pixel) { body(*at(pixel)); });
  }
  __device__ void store(int window, const float4 (&pixels)[kPixels]) {
    for (int i = 0; i < kPixels; ++i) *at(pixel_of(window, i)) = pixels[i];
  }

  const QuadPlace place;
  const int count;

 private:
  __device__ float4* at(int pixel) {
    return reinterpret_cast<float4*>(image_) + static_cast<std::size_t>(pixel) * place.quads +
           place.channel / 4;
  }
  __device__ int pixel_of(int window, int i) const {
    if (!kPool) return window;
    const int across = width_ / 2;
    return (window / across * 2 + i / 2) * width_ + window % across * 2 + i % 2;
  }
  __device__ void read(int window, float4 (&pixels)[kPixels]) {
#pragma unroll
    for (int i = 0; i < kPixels; ++i) pixels[i] = *at(pixel_of(window, i));
  }
  template <typename Body>
  __device__ void for_each_left_out(Body body) {
    if constexpr (kPool) {
      if (height_ % 2 == 0 && width_ % 2 == 0) return;
      for (int pixel = place.lane; pixel < height_ * width_; pixel += place.lanes)
        if (pixel / width_ >= height_ / 2 * 2 || pixel % width_ >= width_ / 2 * 2) body(pixel);
    }
  }

  float* image_;
  int height_, width_;
  float4 held_[kHeld > 0 ? kHeld : 1][kPixels];
};

}  // namespace tessera::cuda
