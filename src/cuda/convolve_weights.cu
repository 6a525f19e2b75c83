// Gradients of a convolution's weights, d_weights[row][output] = sum over pixels of
// in[pixel, row's tap and channel] d_out[pixel, output]. A warp makes 32 rows times 16 or 32
// outputs; the warps of a block share a tile of the image, of one chunk of channels, and of d_out.
// Pixels are the terms: image by image of a part of the batch, tile by tile, eight at a time.
#include <algorithm>

#include "cuda/launch.cuh"
#include "cuda/weights_tile.cuh"

namespace tessera::cuda {
namespace {

constexpr int kWarpsMax = 5;

// Eight pixels from `pixel` on.
template <Precision kPrecision, int kColumns>
__device__ inline void add_pixels(const float* image, const int* offsets, const float* d_out,
                                  int pixel, const int (&rows)[2][2], WarpSums<2, kColumns>& sums) {
  constexpr int kPitch = 8 * kColumns + 8;
  const Lane lane;
  const auto gradient = [&](int k, int n) { return d_out[(pixel + k) * kPitch + n]; };
  if constexpr (kPrecision == Precision::kFp32) {
    add_plain(
        sums, [&](int i, int half, int k) { return image[rows[i][half] + offsets[pixel + k]]; },
        gradient);
  } else {
    const int near = offsets[pixel + lane.t], far = offsets[pixel + lane.t + 4];
    const auto load_a = [&](int i, float(&into)[4]) {
      for (int half = 0; half < 2; ++half) {
        into[half] = image[rows[i][half] + near];
        into[half + 2] = image[rows[i][half] + far];
      }
    };
    const auto load_b = [&](int j, float(&into)[2]) {
      into[0] = gradient(lane.t, 8 * j + lane.g);
      into[1] = gradient(lane.t + 4, 8 * j + lane.g);
    };
    add_tensor<kPrecision>(sums, load_a, load_b);
  }
}

template <Precision kPrecision, int kColumns>
__device__ void add_tile(const WeightsArgs& a, const float* image, const int* offsets,
                         const float* d_out, const int (&rows)[2][2], WarpSums<2, kColumns>& sums) {
  const int all = padded_pixels(a.tile, 8);
  for (int first = 0; first < all; first += 32) {
    WarpSums<2, kColumns> some;
    auto& into = kPrecision == Precision::k3xTf32 ? some : sums;
#pragma unroll
    for (int pixel = 0; pixel < 32; pixel += 8)
      if (first + pixel < all)
        add_pixels<kPrecision, kColumns>(image, offsets, d_out, first + pixel, rows, into);
    if constexpr (kPrecision == Precision::k3xTf32) add_to(sums, some);
  }
}

template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(32 * kWarpsMax, 3) weights_kernel(const WeightsArgs a) {
  float* const image = shared_memory();
  float* const d_out = image + a.tile.floats();
  int* const offsets =
      reinterpret_cast<int*>(d_out + padded_pixels(a.tile, 8) * (8 * kColumns + 8));
  const int group = blockIdx.x % a.row_groups, chunk = blockIdx.x / a.row_groups % a.chunks;
  const int first_column = blockIdx.x / (a.row_groups * a.chunks) * 8 * kColumns;
  const int first_row = (group * (blockDim.x / 32) + threadIdx.x / 32) * 32;
  const Lane lane;
  int rows[2][2];
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 16 * i + 8 * half + lane.g;
      rows[i][half] =
          row < a.segments * a.length ? a.tile.segment_offset(row / a.length) + row % a.length : 0;
    }
  for (int pixel = threadIdx.x; pixel < padded_pixels(a.tile, 8); pixel += blockDim.x)
    offsets[pixel] = a.tile.pixel_offset(pixel);

  WarpSums<2, kColumns> sums;
  const int per_part = (a.part + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int tiles = (a.batch + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  for (int number = blockIdx.z * per_part; number < min((blockIdx.z + 1) * per_part, tiles);
       ++number) {
    const TilePlace place(a.tile, number);
    __syncthreads();
    load_tile(a.tile, a.in, blockIdx.y, a.batch, place, chunk * a.tile.chunk, image);
    load_d_out<kColumns, 8, 8>(a, place, first_column, d_out);
    end_group();
    wait_for_all_but<0>();
    __syncthreads();
    if (first_row < a.segments * a.length)
      add_tile<kPrecision, kColumns>(a, image, offsets, d_out, rows, sums);
  }
  store_weights<kColumns>(a, chunk, first_row, first_column, sums);
}

template <Precision kPrecision>
void start(const Pass& pass, const WeightsArgs& a, int warps, int parts) {
  const int columns = a.outputs % 32 == 0 ? 32 : 16;
  const dim3 grid(a.row_groups * a.chunks * (a.outputs / columns), pass.nodes, parts);
  const std::size_t pixels = padded_pixels(a.tile, 8);
  const std::size_t bytes =
      sizeof(float) * (a.tile.floats() + pixels * (columns + 8)) + sizeof(int) * pixels;
  if (columns == 32)
    launch(weights_kernel<kPrecision, 4>, grid, 32 * warps, bytes, pass.stream, a);
  else
    launch(weights_kernel<kPrecision, 2>, grid, 32 * warps, bytes, pass.stream, a);
}

}  // namespace

int weight_parts(const ConvShape& shape, int batch) {
  const int part = images_in_part(shape, batch);
  return (batch + part - 1) / part;
}

void convolve_weights(const Pass& pass, const ConvShape& shape, const Rows& in, const float* d_out,
                      float* d_weights) {
  const int chunk = shape.by_rows() ? shape.inputs : shape.inputs % 32 == 0 ? 32 : 16;
  WeightsArgs a{.in = in, .d_out = d_out, .d_weights = d_weights};
  const int warps =
      fill_args(pass, shape, chunk, shape.by_rows() ? shape.inputs : chunk + 8, kWarpsMax, a);
  const int parts = weight_parts(shape, pass.batch);
  switch (pass.precision) {
    case Precision::kFp32:
      return start<Precision::kFp32>(pass, a, warps, parts);
    case Precision::k3xTf32:
    case Precision::k3xF16:
      return start<Precision::k3xTf32>(pass, a, warps, parts);
    case Precision::kTf32:
      return start<Precision::kTf32>(pass, a, warps, parts);
  }
}

}  // namespace tessera::cuda
